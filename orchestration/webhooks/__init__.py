"""Webhook messages: made from news, signed, delivered."""
