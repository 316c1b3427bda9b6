"""The report as pages of the documentation site: home, papers, exhibits, explorers; from committed results alone."""
