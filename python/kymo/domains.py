"""Domains of PyPI's nvtx: groups of annotations, each with a stack of its own on every thread."""
import threading
import typing

from kymo import _annotate, colours

# The domain that is used if none is named. Its ranges are those of range_push.
DEFAULT = "NVTX"


class RangeId(typing.NamedTuple):
    """What start_range returns."""

    id: int
    domain: str


class EventAttributes:
    """What an event of a domain says. Its parts may be changed, and it may be used any number of times.

    >>> from kymo import nvtx
    >>> domain = nvtx.get_domain("reader")
    >>> failure = domain.get_event_attributes(color="red")
    >>> failure.message = "end of file"
    >>> domain.mark(failure)
    """

    __slots__ = ("_domain", "_message", "_color", "_category", "_payload", "_event", "_elsewhere")

    def __init__(self, domain, message=None, color=None, category=None, payload=None):
        self._domain, self._message, self._color = domain, message, color
        self._category, self._payload, self._event, self._elsewhere = category, payload, None, {}
        self.event  # so that a mistake is an error here

    @property
    def event(self):
        """The event of kymo._annotate, in the domain that made the attributes."""
        if self._event is None:
            self._event = self._made_for(self._domain)
        return self._event

    def event_of(self, domain):
        """The same event in another domain: NVTX takes attributes of any domain for any other."""
        if domain.stack == self._domain.stack and domain.category == self._domain.category:
            return self.event
        if domain not in self._elsewhere:
            self._elsewhere[domain] = self._made_for(domain)
        return self._elsewhere[domain]

    def _made_for(self, domain):
        message = "" if self._message is None else self._message
        return _annotate.Event(message, domain.category, domain.stack, colours.argb(self._color), self._category,
                               self._payload)

    @property
    def domain_name(self):
        return self._domain.name

    def _part(name):
        def get(self):
            return getattr(self, name)

        def change(self, value):
            before = getattr(self, name)
            setattr(self, name, value)
            self._event, self._elsewhere = None, {}
            try:
                self.event
            except BaseException:
                setattr(self, name, before)
                raise

        return property(get, change)

    message, color, category, payload = _part("_message"), _part("_color"), _part("_category"), _part("_payload")
    del _part


class Domain:
    """A domain, by its name; get_domain(name) returns the same one each time.

    >>> from kymo import nvtx
    >>> domain = nvtx.get_domain("reader")
    >>> load = domain.get_event_attributes(message="load", color="blue")
    >>> domain.push_range(load)
    >>> domain.pop_range()
    """

    _lock = threading.Lock()
    _next = _annotate.FIRST_STACK

    def __init__(self, name=None):
        if name is not None and not isinstance(name, str):
            raise TypeError(f"domain must be str, not {type(name).__name__}")
        self.name = name or DEFAULT
        self.category, self.stack = ("", 0) if self.name == DEFAULT else (self.name, self._new_stack())

    @classmethod
    def _new_stack(cls):
        with Domain._lock:
            number = Domain._next
            Domain._next = min(number + 1, _annotate.LAST_STACK)  # if there are too many, the last ones share one
            return number

    def __repr__(self):
        return f"kymo.nvtx.Domain({self.name!r})"

    def get_registered_string(self, string):
        """The string itself: Kymo stores every name once."""
        return string

    def get_category_id(self, name):
        """The category itself: Kymo stores its name."""
        return name

    def get_event_attributes(self, message=None, color=None, category=None, payload=None):
        """Attributes for the other methods, which may be used many times."""
        return EventAttributes(self, message, color, category, payload)

    def _event(self, function, attributes):
        if not isinstance(attributes, EventAttributes):
            raise TypeError(f"Domain.{function}: attributes must be EventAttributes, not {type(attributes).__name__}; "
                            "domain.get_event_attributes(message) makes them")
        return attributes.event_of(self)

    def push_range(self, attributes):
        """Opens a nested range of this domain on this thread, whichever domain made the attributes."""
        self._event("push_range", attributes).push()

    def pop_range(self):
        """Closes the innermost range of this domain on this thread."""
        _annotate.pop_stack(self.stack)

    def start_range(self, attributes):
        """Opens a range of this domain that may end on another thread. Returns its number."""
        return self._event("start_range", attributes).start()

    def end_range(self, range_id):
        """Ends a range of start_range, on any thread."""
        _annotate.range_end(range_id)

    def mark(self, attributes):
        """Records an instant of this domain."""
        self._event("mark", attributes).mark()


_domains = {}


def get_domain(name=None):
    """The domain with this name.

    >>> get_domain("reader") is get_domain("reader")
    True
    """
    key = name or DEFAULT
    try:
        return _domains[key]
    except (KeyError, TypeError):
        return _domains.setdefault(key, Domain(name))
