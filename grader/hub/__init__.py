"""A JupyterHub for one course on one machine: what it needs, who has an account, how it runs."""
