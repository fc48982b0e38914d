"""Tables of a few rows, such as statistics and the results of queries: lists of dicts that print well.

>>> table = Table([{"name": "load", "count": 2}, {"name": "compute", "count": 10}])
>>> table[0]["count"]
2
>>> print(table)
name     count
load         2
compute     10
"""
import html

_SHOWN = 60  # rows


class Table(list):
    """A list of dicts, one for each row."""

    @property
    def columns(self):
        return list(self[0]) if self else []

    def to_pandas(self):
        """The rows as a DataFrame of pandas."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("to_pandas() needs pandas, which is not installed") from error
        return pandas.DataFrame(list(self))

    def to_arrow(self):
        """The rows as a Table of pyarrow."""
        try:
            import pyarrow
        except ImportError as error:
            raise ImportError("to_arrow() needs pyarrow, which is not installed") from error
        return pyarrow.Table.from_pylist(list(self))

    def __str__(self):
        if not self:
            return "(no rows)"
        rows = [self.columns] + [[str(value) for value in row.values()] for row in self[:_SHOWN]]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        numbers = [isinstance(value, (int, float)) for value in self[0].values()]
        lines = ["  ".join(cell.rjust(width) if number else cell.ljust(width)
                           for cell, width, number in zip(row, widths, numbers)).rstrip() for row in rows]
        if len(self) > _SHOWN:
            lines.append(f"… {len(self) - _SHOWN} more rows")
        return "\n".join(lines)

    def _repr_html_(self):
        head = "".join(f"<th>{html.escape(str(name))}</th>" for name in self.columns)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(str(value))}</td>" for value in row.values()) + "</tr>"
                       for row in self[:_SHOWN])
        more = f"<p>{len(self) - _SHOWN} more rows</p>" if len(self) > _SHOWN else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


class Report(dict):
    """What `kymo report --json` prints. print() shows the text of `kymo report`."""

    def __init__(self, content, path):
        super().__init__(content)
        self._path = path

    def __str__(self):
        from kymo import command
        return command.run("report", self._path)

    def _repr_html_(self):
        return f"<pre>{html.escape(str(self))}</pre>"
