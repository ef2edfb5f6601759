"""What functions declare stands where `setup` calls them; errors in them are told of their own lines."""

from __future__ import annotations

import textwrap

import pytest

from mlax_scaffold.reader.makers import written_out
from mlax_scaffold.reader.source import Source
from mlax_scaffold.reader.specs import read_spec

LAYERS = {"Linear", "Norm", "trainable", "state"}


def written(text: str) -> str:
    """What is read, without empty lines."""
    made = written_out(Source("specs/nn/example.py", textwrap.dedent(text)), LAYERS)
    return "\n".join(line for line in made.text.split("\n") if line.strip())


def setup(body: str, beside: str = "") -> str:
    """A class with statements of `setup`, and other methods."""
    head = "class Example(Layer):\n    n: Size\n    deep: bool = False\n\n"
    lines = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    return f"{textwrap.dedent(beside)}\n{head}{lines}\n"


PAIRS = {
    "a function of several statements": (
        """
        def setup(self):
            self.first = self._stage(self.n, 2)  #: the first one
            self.second = self._stage(8, 2 * self.n, last=self.n)

        def _stage(self, n, depth, last=None):
            # Comments of a function stay in it.
            layers = []
            for _ in range(depth):
                layers.append(Linear(n, n))
            if last is not None:
                layers.append(last)
            return layers
        """,
        """
        def setup(self):
            first = []
            for _ in range(2):
                first.append(Linear(self.n, self.n))
            self.first = first  #: the first one
            depth = 2 * self.n
            second = []
            for _ in range(depth):
                second.append(Linear(8, 8))
            if self.n is not None:
                second.append(self.n)
            self.second = second
        """,
    ),
    "several results": (
        """
        def setup(self):
            self.a = self._make(self.n)

        def _make(self, n):
            if self.deep:
                return Linear(n, n)
            m = 2 * n
            return Linear(n, m)
        """,
        """
        def setup(self):
            if self.deep:
                self.a = Linear(self.n, self.n)
            else:
                m = 2 * self.n
                self.a = Linear(self.n, m)
        """,
    ),
    "what is raised where nothing is returned": (
        """
        def setup(self):
            self.a = self._make(self.n)

        def _make(self, n):
            if n == 1:
                return Linear(n, n)
            elif n == 2:
                return Norm(n)
            else:
                raise ValueError(f"{n} is neither 1 nor 2")
        """,
        """
        def setup(self):
            if not (self.n == 1 or self.n == 2):
                raise ValueError(f'{self.n} is neither 1 nor 2')
            if self.n == 1:
                self.a = Linear(self.n, self.n)
            else:
                self.a = Norm(self.n)
        """,
    ),
    "an argument that is read twice": (
        """
        def setup(self):
            self.first = self._stack([self.n, 4, 2])
            if self.deep:
                self.second = self._stack([4, self.n])

        def _stack(self, sizes):
            return [Linear(a, b) for a, b in zip(sizes, sizes[1:])]
        """,
        """
        def setup(self):
            sizes = [self.n, 4, 2]
            self.first = [Linear(a, b) for a, b in zip(sizes, sizes[1:])]
            if self.deep:
                sizes_ = [4, self.n]
                self.second = [Linear(a_, b_) for a_, b_ in zip(sizes_, sizes_[1:])]
        """,
    ),
    "parts of a list, and several results": (
        """
        def setup(self):
            self.head = [*self._block(self.n, drop=0), Norm(3), *self._block(8, drop=2)]
            self.a, self.b = self._pair()

        def _block(self, n, drop=1):
            layers = [Linear(n, n)]
            if drop > 1:
                layers.append(Norm(n))
            return layers

        def _pair(self):
            scale = trainable(ones, (self.n,))
            return scale, trainable(zeros, (self.n,))
        """,
        """
        def setup(self):
            head_1 = [Linear(self.n, self.n)]
            head_2 = [Linear(8, 8)]
            head_2.append(Norm(8))
            self.head = [*head_1, Norm(3), *head_2]
            self.a = trainable(ones, (self.n,))
            self.b = trainable(zeros, (self.n,))
        """,
    ),
    "functions that call others": (
        """
        def setup(self):
            self.pairs = [self._pair(i) for i in range(2)]

        def _pair(self, i):
            return self._one(self.n + i), self._one(m=i)

        def _one(self, n=1, *, m=2):
            return Linear(n, m)
        """,
        """
        def setup(self):
            self.pairs = [(Linear(self.n + i, 2), Linear(1, i)) for i in range(2)]
        """,
    ),
    "sizes": (
        """
        def setup(self):
            # Wide.
            self.up = Linear(self.n, self.wide)
            if self._wide(3) > 4:
                self.down = Linear(self.wide, self.n)

        @property
        def wide(self):
            return 4 * self.n

        def _wide(self, by):
            return by * self.n
        """,
        """
        def setup(self):
            wide = 4 * self.n
            # Wide.
            self.up = Linear(self.n, wide)
            if 3 * self.n > 4:
                self.down = Linear(wide, self.n)
        @property
        def wide(self):
            return 4 * self.n
        """,
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_stands_where_it_is_called(name: str):
    before, after = PAIRS[name]
    lines = [line for line in setup(after).split("\n") if line.strip()]
    assert written(setup(before)) == "\n".join(lines)


LEFT = {
    "a function that calls itself": """
        def setup(self):
            self.a = self._make(3)

        def _make(self, n):
            return Linear(n, n) if n < 2 else self._make(n - 1)
        """,
    "a result out of a loop": """
        def setup(self):
            self.a = self._make(3)

        def _make(self, n):
            for i in range(n):
                return Linear(i, i)
        """,
    "arguments that do not fit": """
        def setup(self):
            self.a = self._make(3, 4)

        def _make(self, n):
            return Linear(n, n)
        """,
    "a layer that is used twice": """
        def setup(self):
            self.a = self._twice(Linear(3, 3))

        def _twice(self, layer):
            return [layer, layer, Norm(3)]
        """,
    "a name that means something else there": """
        def setup(self):
            Norm = self.n
            self.a = self._make(3)

        def _make(self, n):
            return Linear(n, Norm)
        """,
    "several statements in a condition, or once for each item": """
        def setup(self):
            self.a = self._made(3) if self.deep else None
            self.b = [self._made(n) for n in range(3)]

        def _made(self, n):
            layer = Linear(n, n)
            layers = [layer]
            return layers
        """,
    "a name that is bound twice": """
        def setup(self):
            dense = Linear
            self.a = dense(3, 3)
            dense = Norm
            self.b = dense(3)
        """,
    "a name that a loop binds": """
        def setup(self):
            def make(n):
                return Linear(n, n)

            self.layers = []
            for make in (Linear, Norm):
                self.layers.append(make(3))
        """,
    "a method that uses weights": """
        def setup(self):
            self.kernel = trainable(ones, (self.n,))
            self.run = self._run

        def _run(self, x):
            return x * self.kernel
        """,
}


@pytest.mark.parametrize("name", LEFT)
def test_is_left_where_it_cannot_be_written_out(name: str):
    text = setup(LEFT[name])
    assert written_out(Source("specs/nn/example.py", text), LAYERS).text == text


def test_errors_are_told_of_the_lines_of_functions():
    text = textwrap.dedent('''
        from mlax_scaffold.spec import Float, Layer, Size, ones, trainable


        def weight(n):
            return trainable(ones, n, n, n)


        class Example(Layer):
            """A spec of a test."""

            n: Size

            def setup(self):
                # What follows keeps its place.
                for_all = 2 * self.n
                self.a = self._made(for_all)
                self.b = weight(self.n)
                self.c = trainable(onse, (self.n,))

            def _made(self, n):
                m = n + 1
                return trainable(oness, (m,))

            def forward(self, x: Float["..."]) -> Float["..."]:
                return x * self.a * self.d
        ''')
    definition, problems = read_spec("specs/nn/example.py", text)
    assert definition is None
    lines = {str(p).split(": ")[0].split(":")[1] for p in problems}
    assert lines == {"18", "19", "23", "26"}, [str(p) for p in problems]
