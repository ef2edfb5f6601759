"""The edits that mend what is refused: each module makes those of one kind of finding.

An edit is a place in the text and what to write there, so that comments and layout stay as they are.
"""
