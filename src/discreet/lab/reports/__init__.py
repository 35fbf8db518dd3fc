"""Reports of attacks and audits."""
