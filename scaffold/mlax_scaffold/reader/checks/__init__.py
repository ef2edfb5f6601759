"""What a spec may say: each module finds one kind of mistake."""
