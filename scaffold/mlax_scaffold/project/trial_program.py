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
import ast, importlib, json, linecache, os, sys, traceback, types, warnings

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
    guessed = traced["cases"], traced["owner"], traced["guesses"]
    def trace():
        return jax.make_jaxpr(lambda: exec(code, names) or names.get("y"))()

    try:
        program = trace()
    except BaseException as error:
        if broken & {f.replace(os.sep, "/") for f, _, _ in failure(error)["frames"]}:
            return None
        if isinstance(error, TypeError) and (met := met_wider(trace)):
            return [met | {"source": traced["source"]}]
        contract = tried.contract_of(traced["cases"], error)
        if contract and (shapes := tried.shapes_of(*guessed)):
            return [failure(error, source=traced["source"]) | {"always": True, "types": shapes}]
        always = contract and tried.refused(contract)
        if contract and always is None and (never := tried.refused_with_defaults(contract)):
            return [failure(never, source=traced["source"]) | {"always": True, "default": True}]
        told = error if isinstance(error, type(always)) else always or error
        said = {"always": always is not None, "axes": contract and tried.sizes_of(contract) or {}}
        if always is not None and not said["axes"]:
            said["types"] = tried.types_of(traced["cases"], error)
        found = [failure(told, source=traced["source"]) | said]
        if said["axes"]:
            found[0]["fits"] = tried.with_given_layers(traced["cases"], said["axes"], error)
        if contract and always is None and not said["axes"]:
            found[0]["fits"] = tried.fitting(contract)
            if " must have shape (" in found[0]["message"]:
                found[0]["others"] = tried.refusals(contract)
        return found if always or not contract else found + of_other_dtypes(traced, contract)
    if shapes := tried.looser_shapes_of(*guessed) or tried.stricter_shapes_of(*guessed):
        told = {"module": "", "source": traced["source"], "kinds": ["Tied"], "message": "", "frames": []}
        return [told | {"types": shapes}]
    if not traced["code"]:
        # Of what no example can be made, a case of the tests tells whether anything is taken.
        contract = tried.contract_of(traced["cases"], ValueError())
        if contract and (always := tried.refused(contract)):
            return [failure(always, source=traced["source"]) | {"always": True}]
    if (name := traced["schedule"]) in names and takes_one_step(names[name]):
        told = {"module": "", "source": traced["source"], "kinds": ["OneStep"]}
        return [told | {"message": "", "frames": []}]
    from mlax_scaffold.testing.widening import is_suspicious

    unknown = not traced["code"] or is_suspicious(program.jaxpr)
    found = of_other_dtypes(traced, tried.contract_of(traced["cases"], ValueError())) if unknown else []
    return found or of_entries(traced) or of_options(traced)

# What fails where an option is another one than in the example, or an input is given that may be
# left out.
def of_options(traced):
    contract = traced["cases"] and tried.contracts_of(traced["cases"]).get("cases")
    fails = contract and tried.fails_with_options(contract)
    if not fails:
        return []
    told, option = fails
    refusal = isinstance(told, REFUSALS) and not isinstance(told, UNTRACED)
    return [failure(told, source=traced["source"]) | {"always": refusal, "option": option}]

# What the simplest case of an entry point, other than that of the example, tells.
def of_entries(traced):
    from mlax_scaffold.testing import picks
    from mlax_scaffold.testing.widening import is_suspicious

    for contract in tried.entries_of(traced["cases"]):
        always, unknown = None, True
        try:
            first = picks.with_values(tried.within_time(contract).make, {})
            unknown = is_suspicious(first.forward.jaxpr.jaxpr)
        except Exception:
            always = tried.refused(contract)
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
    except REFUSALS:
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
        found = contract and first_widening(tried.within_time(contract), own, meant=traced["wide"])
    except Exception:
        found = None
    if not found:
        return []
    frame = found.path[len(root):], found.line, found.span
    told = {"module": "", "source": traced["source"], "kinds": ["Widening"]}
    told |= {"message": found.what, "frames": [frame]}
    return [told | {"wide": found.wide, "meets": found.meets}]

found, left = failures(), []
broken = set()
if not found:
    from mlax_scaffold.testing.picks import REFUSALS, UNTRACED
    from mlax_scaffold.testing.tried import Tried

    for traced in task["traced"]:
        tried = Tried(root)
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
