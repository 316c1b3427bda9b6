"""What pages of exhibits and of audits are made of: tables, templates, ink. Knows neither."""
