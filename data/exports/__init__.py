"""A folder of rows as a data set for others: tables, a card, and layouts of other tools."""
