// The form for a free key, or for an existing one. A key is stored only in this browser, and only on request.

import * as api from './api.js';
import { copied } from './clipboard.js';
import { byId } from './dom.js';
import * as key from './key.js';

const INVALID = 'Enter a valid e-mail address, for example name@example.org.';

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

/** Opens the dialog. `own`: puts the focus into the field for an existing key. */
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
    byId('own-key-error').textContent = 'Keys start with emds_. Copy the whole key.';
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
    complain(email, INVALID);
    return;
  }
  const button = form.querySelector('[type=submit]');
  button.disabled = true;
  try {
    const { body } = await api.signUp(email.value.trim());
    show(form, body);
  } catch (error) {
    if (!(error instanceof api.Refused)) throw error;
    complain(email, error.status === 400 ? INVALID : error.message);
  } finally {
    button.disabled = false;
  }
}

function complain(email, text) {
  byId('sign-up-error').textContent = text;
  email.setAttribute('aria-invalid', 'true');
  email.focus();
}

function show(form, { api_key: made, email, confirmed = true }) {
  form.hidden = true;
  byId('own-key-form').hidden = true;
  byId('new-key').textContent = made;
  byId('example').textContent = `curl -H "Authorization: Bearer ${made}" \\\n  ${api.address('v1/brief/GB')}`;
  byId('to-confirm').textContent = confirmed ? '' : `To activate the key, open the link in the e-mail to ${email} within 24 hours.`;
  byId('sign-up-done').hidden = false;
  byId('copy-key').focus();
}

async function copyKey(button) {
  const done = await copied(byId('new-key').textContent, byId('sign-up-done'));
  button.focus();
  button.textContent = done ? 'Copied' : 'Not copied';
  setTimeout(() => { button.textContent = 'Copy'; }, 2000);
}
