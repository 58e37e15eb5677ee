"""Publishes the files that training reads to an object store, and fetches them."""
