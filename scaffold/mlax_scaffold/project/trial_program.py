"""The program that a trial runs in a process of its own."""

from __future__ import annotations

# What jax does not have is looked for in the text of a spec, all of it at once. Then its example
# is traced, until something fails. It may not fit the layer: so the cases of the generated tests
# are asked, too, for a limited time. What fails inside of another definition that is at fault itself
# is left.
#
# A module that fails, fails all that import it. So where one does, each is imported again in
# packages that import nothing themselves, to find the others that fail.
PROGRAM = r"""
import ast, dataclasses, importlib, json, linecache, os, re, sys, time, traceback, types, warnings

from mlax_scaffold.spelling import misspelt

root, given, result = json.loads(sys.argv[1])
with open(given, encoding="utf-8") as file:
    task = json.load(file)
modules = task["modules"]

# No file changes here. For each error jax asks of each file on the stack whether it did.
linecache.checkcache = lambda filename=None: None

def failure(error, module="", source=""):
    frames = []
    summary = traceback.TracebackException.from_exception(error, lookup_lines=False)
    for frame in summary.stack:
        span = None
        if frame.end_lineno and frame.colno is not None:
            span = frame.colno, frame.end_lineno, frame.end_colno
        frames.append((frame.filename, frame.lineno, span))
    if isinstance(error, SyntaxError):
        frames.append((error.filename, error.lineno, None))
    frames = [(f[len(root):], n, s) for f, n, s in frames if f and f.startswith(root)]
    kinds = [kind.__name__ for kind in type(error).__mro__]
    told = {"module": module, "source": source, "kinds": kinds}
    return told | {"message": str(error), "frames": frames}

def failures():
    found = []
    for module in modules:
        try:
            importlib.import_module(module)
        except BaseException as error:
            found.append(failure(error, module))
    return found

def members(path):
    top, *names = path.split(".")
    value = importlib.import_module(top)
    for name in names:
        if not hasattr(value, name):
            value = importlib.import_module(f"{value.__name__}.{name}")
        else:
            value = getattr(value, name)
    return value

# The module of jax that has a name which another one does not.
def home(owner, name):
    homes = ("numpy", "nn", "lax", "numpy.linalg", "scipy.special", "random")
    if owner.__name__ == "math":
        return ""
    return next((f"jax.{m}" for m in homes if callable(getattr(members(f"jax.{m}"), name, None))), "")

def missing(traced):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(traced["text"])
    known = {}
    for name, path in traced["imports"].items():
        if path.partition(".")[0] in ("jax", "math"):
            try:
                known[name] = members(path)
            except (ImportError, AttributeError):
                pass
    found = []
    for node in ast.walk(tree):
        chain, part = [], node
        while isinstance(part, ast.Attribute):
            chain.append(part)
            part = part.value
        if not chain or not isinstance(part, ast.Name) or part.id not in known:
            continue
        owner = known[part.id]
        for attribute in reversed(chain):
            if not isinstance(owner, types.ModuleType):
                break
            try:
                owner = getattr(owner, attribute.attr)
            except AttributeError:
                name = attribute.attr
                near = [n for n in dir(owner) if not n.startswith("_")]
                place = attribute.lineno, attribute.col_offset
                end = attribute.end_lineno, attribute.end_col_offset
                # Most of three letters mean something else.
                near = misspelt(name, near) if len(name) > 3 else ""
                item = [*place, *end, name, owner.__name__, near, home(owner, name)]
                if item not in found:
                    found.append(item)
                break
    return [{"source": traced["source"], "name": item} for item in found]

def traces(traced):
    import jax

    jax.config.update("jax_traceback_filtering", "off")  # It takes longer than all that is tried.
    names = {**vars(sys.modules[modules[0]]), "jax": jax, "jnp": jax.numpy}
    # What the example says of its results is for the tests to hold.
    tree = ast.parse(traced["code"])
    tree.body = [s for s in tree.body if not isinstance(s, ast.Assert)]
    code = compile(tree, "<example>", "exec")
    def trace():
        return jax.make_jaxpr(lambda: exec(code, names) or names.get("y"))()

    try:
        program = trace()
    except BaseException as error:
        if broken & {f.replace(os.sep, "/") for f, _, _ in failure(error)["frames"]}:
            return None
        if isinstance(error, TypeError) and (met := met_wider(trace)):
            return [met | {"source": traced["source"]}]
        contract = contract_of(traced["cases"], error)
        always = contract and refused(contract)
        if contract and always is None and (never := refused_with_defaults(contract)):
            return [failure(never, source=traced["source"]) | {"always": True, "default": True}]
        told = error if isinstance(error, type(always)) else always or error
        said = {"always": always is not None, "axes": contract and sizes_of(contract) or {}}
        if always is not None and not said["axes"]:
            said["types"] = types_of(traced["cases"], error)
        found = [failure(told, source=traced["source"]) | said]
        if said["axes"]:
            found[0]["fits"] = with_given_layers(traced["cases"], said["axes"], error)
        if contract and always is None and not said["axes"]:
            found[0]["fits"] = fitting(contract)
            if " must have shape (" in found[0]["message"]:
                found[0]["others"] = refusals(contract)
        return found if always or not contract else found + of_other_dtypes(traced, contract)
    if not traced["code"]:
        # Of what no example can be made, a case of the tests tells whether anything is taken.
        contract = contract_of(traced["cases"], ValueError())
        if contract and (always := refused(contract)):
            return [failure(always, source=traced["source"]) | {"always": True}]
    if (name := traced["schedule"]) in names and takes_one_step(names[name]):
        told = {"module": "", "source": traced["source"], "kinds": ["OneStep"]}
        return [told | {"message": "", "frames": []}]
    from mlax_scaffold.testing.untraced import first_untraced
    from mlax_scaffold.testing.widening import is_suspicious

    contract = contract_of(traced["cases"], ValueError())
    if contract and (other := first_untraced(within_time(contract).make, traced["text"])):
        return [failure(other, source=traced["source"])]
    unknown = not traced["code"] or is_suspicious(program.jaxpr)
    found = of_other_dtypes(traced, contract) if unknown else []
    return found or of_entries(traced)

# What the simplest case of an entry point, other than that of the example, tells.
def of_entries(traced):
    from mlax_scaffold.testing import picks
    from mlax_scaffold.testing.widening import is_suspicious

    for contract in entries_of(traced["cases"]):
        always, unknown = None, True
        try:
            first = picks.with_values(within_time(contract).make, {})
            unknown = is_suspicious(first.forward.jaxpr.jaxpr)
        except Exception:
            always = refused(contract)
        if always:
            return [failure(always, source=traced["source"]) | {"always": True}]
        found = of_other_dtypes(traced, contract) if unknown else []
        if found:
            return found
    return []

# Whether a schedule has a value for one step, and not one for each of several.
def takes_one_step(schedule):
    import jax

    # No other axes are as long as these.
    steps = jax.ShapeDtypeStruct((7, 11), jax.numpy.float32)
    try:
        return jax.eval_shape(schedule, steps).shape != steps.shape
    except kinds:
        return True

# Where numbers of 16 bits meet wider ones, if what was traced is refused for that: loops and
# branches take one dtype alone.
def met_wider(trace):
    import jax

    try:
        with jax.numpy_dtype_promotion("strict"):
            trace()
    except jax.dtypes.TypePromotionError as error:
        told = failure(error)
        if "'float32'" not in told["message"] or "float16'" not in told["message"]:
            return None
        told |= {"kinds": ["Widening"], "message": "operand", "meets": True}
        from mlax_scaffold.testing.operands import wider_operand

        return told | {"wide": wider_operand(error, root)}
    except BaseException:
        pass
    return None

# Where it computes in other dtypes than that of its inputs, in a case of the generated tests.
def of_other_dtypes(traced, contract):
    from mlax_scaffold.testing.other_dtypes import first_widening

    own = [os.path.join(root, path) for path in traced["paths"]]
    try:
        found = contract and first_widening(within_time(contract), own, meant=traced["wide"])
    except Exception:
        found = None
    if not found:
        return []
    frame = found.path[len(root):], found.line, found.span
    told = {"module": "", "source": traced["source"], "kinds": ["Widening"]}
    told |= {"message": found.what, "frames": [frame]}
    return [told | {"wide": found.wide, "meets": found.meets}]

kinds = (ValueError, TypeError, IndexError, ArithmeticError)

# So long cases of one definition are looked for, of processor time: nobody waits longer for its tests.
SECONDS = 60.0

class OutOfTime(Exception):
    pass

def within_time(contract, taken=None):
    def make(pick):
        if time.process_time() > end:
            raise OutOfTime
        case = contract.make(pick)
        if taken is not None:
            taken.append(True)
        return case

    return dataclasses.replace(contract, make=make)

# The contract of the generated tests; None where an error is no matter of sizes and values.
def contract_of(cases, error):
    import jax

    traced = (jax.errors.JAXTypeError, jax.errors.JAXIndexError)
    if cases is None or not isinstance(error, kinds) or isinstance(error, traced):
        return None
    return contracts_of(cases).get("cases")

# Those of the entry points other than that of the example.
def entries_of(cases):
    several = cases is not None and "_cases(pick: Pick)" in cases[1]
    return [c for name, c in contracts_of(cases).items() if name != "cases"] if several else []

def contracts_of(cases):
    path, text = cases
    names = {"__name__": "cases", "__file__": path}
    try:
        exec(compile(text, path, "exec"), names)
    except Exception:
        return {}
    return {n: c for n, c in names.items() if n == "cases" or n.endswith("_cases")}

# What axes have to be that the types leave open.
def sizes_of(contract):
    from mlax_scaffold.testing.solving import solved

    def reached(error):
        frames = traceback.extract_tb(error.__traceback__)
        return [f.lineno for f in frames if f.filename.startswith(root)]

    try:
        return solved(within_time(contract).make, reached)
    except Exception:
        return {}

# Shapes of inputs of which their types say nothing, with which something is taken.
def types_of(cases, error):
    from mlax_scaffold.testing.ranks import candidates, with_sizes

    path, text = cases
    for shapes, changed in candidates(text):
        contract = contract_of((path, changed), error)
        if contract is None:
            continue
        sizes = sizes_of(contract)
        if sizes or refused(contract) is None:
            return with_sizes(shapes, sizes)
    return {}

# What every case of the generated tests is refused with; None where one is taken, or where
# that is not known.
def refused(contract):
    from mlax_scaffold.testing import picks

    taken = []
    try:
        within_time(contract, taken).covering
    except AssertionError:
        pass
    except OutOfTime:
        if taken:
            return None
    except Exception as told:
        return told if isinstance(told, kinds) else None
    else:
        return None
    try:
        picks.with_values(contract.make, {})
    except picks.Unfit as unfit:
        return unfit.__cause__
    except Exception:
        pass
    return None

# What the defaults are refused with, whatever the layer is given; None where they are taken.
def refused_with_defaults(contract):
    from mlax_scaffold.testing.by_default import refused_by_default

    try:
        fields = contract.spec.load()._fields_
        make = within_time(contract).make
        found = refused_by_default(make, fields.annotations, fields.defaults)
    except Exception:
        return None
    return found if isinstance(found, kinds) else None

# Values and shapes of a case of the defaults that is taken; nothing where they are no literals.
def fitting(contract):
    from mlax_scaffold.testing.by_default import taken_by_default
    from mlax_scaffold.testing.toys import Toy

    def plain(value):
        single = value is None or type(value) in (bool, int, float, str)
        return single or isinstance(value, tuple) and all(map(plain, value))

    try:
        fields = contract.spec.load()._fields_
        case = taken_by_default(within_time(contract).make, fields.defaults).case
        given = {n: case.hyperparameters[n] for n in fields.annotations if n not in fields.defaults}
        given = {n: v for n, v in given.items() if not isinstance(v, Toy)}
        given |= dict(case.shapes.items())
        return {n: repr(v) for n, v in given.items()} if all(map(plain, given.values())) else {}
    except Exception:
        return {}

# An example of a block that is tried with layers which keep shapes, where axes are these.
def with_given_layers(cases, axes, error):
    path, text = cases
    if "toys.Toy" not in text:
        return {}
    for axis, size in axes.items():
        text = re.sub(rf'(?<=[" ]){axis}(?=[" ])', size, text)
    contract = contract_of((path, text), error)
    return fitting(contract) if contract else {}

# What cases of the defaults are refused with, of one size and another.
def refusals(contract):
    from mlax_scaffold.testing.by_default import refusals_by_default

    try:
        fields = contract.spec.load()._fields_
        return refusals_by_default(within_time(contract).make, fields.defaults)
    except Exception:
        return []

found, left = failures(), []
broken = set()
if not found:
    for traced in task["traced"]:
        end = time.process_time() + SECONDS
        known = traced["known"]
        told = missing(traced) or (traces(traced) if known is None else known)
        if told is None:
            left.append(traced["definition"])
            continue
        found += [f | {"definition": traced["definition"]} for f in told]
        if any(f.get("always") or f.get("axes") for f in told):
            broken.update(traced["modules"])
else:
    package = modules[0]
    [place] = [p for p in sys.path if os.path.isdir(os.path.join(p, *package.split(".")))][:1]
    for name in [m for m in sys.modules if m.partition(".")[0] == package.partition(".")[0]]:
        del sys.modules[name]
    for name in modules:
        folder = os.path.join(place, *name.split("."))
        if os.path.isdir(folder):
            sys.modules[name] = types.ModuleType(name)
            sys.modules[name].__path__ = [folder]
    found += [f for f in failures() if "(unknown location)" not in f["message"]]
    for traced in task["traced"]:
        found += missing(traced)
with open(result, "w", encoding="utf-8") as file:
    json.dump({"found": found, "left": left}, file)
"""
