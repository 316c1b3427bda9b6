"""Building blocks of the pages of exhibits and of audits: tables, templates, colours."""
