// The form for a free key. The key is shown once and kept nowhere on this page.

import * as api from './api.js';
import { byId } from './dom.js';

export function wire() {
  const dialog = byId('sign-up');
  const form = byId('sign-up-form');
  byId('get-key').addEventListener('click', () => open(dialog, form));
  for (const button of dialog.querySelectorAll('[data-close]')) button.addEventListener('click', () => dialog.close());
  dialog.addEventListener('close', () => { byId('new-key').textContent = ''; byId('example').textContent = ''; });
  byId('copy-key').addEventListener('click', () => copied(byId('copy-key')));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    submitted(form);
  });
}

function open(dialog, form) {
  form.reset();
  form.hidden = false;
  byId('sign-up-done').hidden = true;
  byId('sign-up-error').textContent = '';
  dialog.showModal();
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

function show(form, key) {
  form.elements.email.removeAttribute('aria-invalid');
  form.hidden = true;
  byId('new-key').textContent = key;
  byId('example').textContent = `curl -H "Authorization: Bearer ${key}" \\\n  ${api.briefAddress('GB')}`;
  byId('sign-up-done').hidden = false;
  byId('copy-key').focus();
}

async function copied(button) {
  await navigator.clipboard.writeText(byId('new-key').textContent);
  button.textContent = 'Copied';
  setTimeout(() => { button.textContent = 'Copy'; }, 2000);
}
