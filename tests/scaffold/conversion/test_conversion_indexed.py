"""What indices, and loops over matrices, tell of inputs; lists of layers that methods make and take."""

from __future__ import annotations

from test_conversion_forms import converted


def test_an_input_whose_columns_are_read_one_by_one_is_a_table_of_them():
    text = converted(
        """\
class Thing(nn.Module):
    def __init__(self, dim, users: int = 5, items: int = 7, days: int = 3):
        super().__init__()
        self.user = nn.Embedding(users, dim)
        self.item = nn.Embedding(items, dim)
        self.day = nn.Embedding(days, dim)

    def embed(self, ids):
        return self.user(ids[:, 0]) + self.item(ids[:, 1])

    def forward(self, rows):
        return self.embed(rows) * self.day(rows[:, 2])
"""
    ).text
    assert "rows: Int['batch 3']" in text
    assert "'rows': (2, 3)" in text


def test_a_single_column_is_a_position_of_sequences():
    text = converted(
        """\
class Thing(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, hidden):
        return self.fc(hidden[:, 0])
"""
    ).text
    assert "hidden: Float['batch positions dim']" in text


def test_an_input_that_picks_rows_is_of_indices():
    text = converted(
        """\
class Thing(nn.Module):
    def __init__(self, users: int, dim: int, steps: int = 2):
        super().__init__()
        self.table = nn.Embedding(users, dim)
        self.steps = steps

    def tables(self, graph):
        table = self.table.weight
        found = [table]
        for _ in range(self.steps):
            table = torch.mm(graph, table)
            found.append(table)
        return torch.stack(found, dim=1).mean(dim=1)

    def forward(self, graph, chosen):
        return self.tables(graph)[chosen] + self.pick(graph, chosen)

    def pick(self, graph, at):
        found = self.tables(graph)
        return found[at]
"""
    ).text
    assert "graph: Float['users users']" in text
    assert "chosen: Int['" in text


MADE = """\
class Thing(nn.Module):
    def make(self, sizes, dim):
        tables = nn.ModuleList()
        for i in range(0, len(sizes)):
            table = nn.Embedding(sizes[i], dim)
            tables.append(table)
        return tables

    def __init__(self, dim=4, sizes=(5, 7)):
        super().__init__()
        self.tables = self.make(sizes, dim)
        self.out = nn.Linear(dim, 1)

    def embed(self, ids, tables):
        found = []
        for k in range(len(tables)):
            found.append(tables[k](ids[:, k]))
        return found

    def apply_to(self, x, layer):
        return layer(x)

    def forward(self, ids):
        found = self.embed(ids, self.tables)
        return self.apply_to(found[0] + found[1], self.out)
"""


def test_a_method_makes_a_list_of_layers_and_another_one_is_handed_it():
    text = converted(MADE).text
    assert "self.tables_1(ids[:, 1])" in text
    assert "self._embed_tables(ids)" in text
    assert "ids: Int['batch 2']" in text
    assert "return self.out(x)" in text


def test_a_layer_that_is_called_item_is_none_of_the_numbers_of_arrays():
    made = converted(
        """\
class Thing(nn.Module):
    def __init__(self, dim, items: int = 7):
        super().__init__()
        self.item = nn.Embedding(items, dim)

    def score(self, ids):
        return self.item(ids).sum(-1)

    def forward(self, ids):
        return self.score(ids)
"""
    )
    assert "return sum(self.item(ids), axis=-1)" in made.text
