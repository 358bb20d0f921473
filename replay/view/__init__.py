"""What a store holds, and a live race of plain generation against redraft, in a browser."""
