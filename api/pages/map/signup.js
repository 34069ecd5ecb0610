// The form for a free key, and for using one that the visitor has. A key is kept only in this browser, and only on request.

import * as api from './api.js';
import { copied } from './clipboard.js';
import { byId } from './dom.js';
import * as key from './key.js';

export function wire() {
  const dialog = byId('sign-up');
  const form = byId('sign-up-form');
  byId('get-key').addEventListener('click', () => open(false));
  byId('own-key-form').addEventListener('submit', (event) => {
    event.preventDefault();
    use(event.target.elements.own.value.trim());
  });
  byId('use-key').addEventListener('click', () => use(byId('new-key').textContent));
  for (const button of dialog.querySelectorAll('[data-close]')) button.addEventListener('click', () => dialog.close());
  dialog.addEventListener('close', () => { byId('new-key').textContent = ''; byId('example').textContent = ''; });
  byId('copy-key').addEventListener('click', () => copyKey(byId('copy-key')));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    submitted(form);
  });
}

/** Opens the dialog; `own`: at the field for a key that the visitor has. */
export function open(own) {
  const dialog = byId('sign-up');
  const form = byId('sign-up-form');
  form.reset();
  byId('own-key-form').reset();
  form.hidden = false;
  byId('own-key-form').hidden = false;
  byId('sign-up-done').hidden = true;
  byId('sign-up-error').textContent = '';
  byId('own-key-error').textContent = '';
  form.elements.email.removeAttribute('aria-invalid');
  dialog.showModal();
  if (own) byId('own-key').focus();
}

function use(value) {
  if (!/^emds_[A-Za-z0-9]+$/.test(value)) {
    byId('own-key-error').textContent = 'A key begins with emds_.';
    return;
  }
  byId('own-key-error').textContent = '';
  key.store(value);
  byId('sign-up').close();
  window.dispatchEvent(new Event('emds-key'));
}

async function submitted(form) {
  const email = form.elements.email;
  if (!email.checkValidity()) {
    complain(email, 'That is not an e-mail address.');
    return;
  }
  const button = form.querySelector('[type=submit]');
  button.disabled = true;
  try {
    const { body } = await api.signUp(email.value.trim());
    show(form, body.api_key);
  } catch (error) {
    if (!(error instanceof api.Refused)) throw error;
    complain(email, error.message);
  } finally {
    button.disabled = false;
  }
}

function complain(email, text) {
  byId('sign-up-error').textContent = text;
  email.setAttribute('aria-invalid', 'true');
  email.focus();
}

function show(form, made) {
  form.hidden = true;
  byId('own-key-form').hidden = true;
  byId('new-key').textContent = made;
  byId('example').textContent = `curl -H "Authorization: Bearer ${made}" \\\n  ${api.address('v1/brief/GB')}`;
  byId('sign-up-done').hidden = false;
  byId('copy-key').focus();
}

async function copyKey(button) {
  const done = await copied(byId('new-key').textContent, byId('sign-up-done'));
  button.focus();
  button.textContent = done ? 'Copied' : 'Not copied';
  setTimeout(() => { button.textContent = 'Copy'; }, 2000);
}
