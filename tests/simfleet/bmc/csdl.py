# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The schemas of the resources in the form that Redfish tools read (OData's CSDL), made from `csdl.yml`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import yaml

EDMX = "http://docs.oasis-open.org/odata/ns/edmx"
EDM = "http://docs.oasis-open.org/odata/ns/edm"
PLAIN = {
    "str": "Edm.String", "int": "Edm.Int64", "bool": "Edm.Boolean", "num": "Edm.Decimal", "time": "Edm.DateTimeOffset",
    "uuid": "Edm.Guid", "any": "Edm.PrimitiveType",
}  # fmt: skip
HEAD = f'<?xml version="1.0" encoding="UTF-8"?>\n<edmx:Edmx xmlns:edmx="{EDMX}" Version="4.0">\n<edmx:DataServices>\n'
TAIL = "</edmx:DataServices>\n</edmx:Edmx>\n"
ITEM = '<EntityType Name="Item" Abstract="true"/>'
STATUS = (
    '<ComplexType Name="Status"><Property Name="State" Type="Resource.State"/>'
    '<Property Name="Health" Type="Resource.Health"/>'
    '<Property Name="HealthRollup" Type="Resource.Health"/></ComplexType>'
)
STATES = (
    "Enabled Disabled StandbyOffline StandbySpare InTest Starting Absent UnavailableOffline Deferring Quiesced Updating"
)


@cache
def schemas() -> dict[str, dict[str, Any]]:
    """The content of csdl.yml."""
    data: dict[str, dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "csdl.yml").read_text(encoding="utf-8"))
    return data


def _enum(name: str, members: list[str]) -> str:
    return f'<EnumType Name="{name}">' + "".join(f'<Member Name="{member}"/>' for member in members) + "</EnumType>"


def _annotations(uris: list[str], methods: list[str]) -> str:
    rows = ""
    if uris:
        texts = "".join(f"<String>{uri}</String>" for uri in uris)
        rows += f'<Annotation Term="Redfish.Uris"><Collection>{texts}</Collection></Annotation>'
    kinds = {"POST": ("Insert", "Insertable"), "PATCH": ("Update", "Updatable"), "DELETE": ("Delete", "Deletable")}
    for method, (term, key) in kinds.items():
        value = "true" if method in methods else "false"
        record = f'<Record><PropertyValue Property="{key}" Bool="{value}"/></Record>'
        rows += f'<Annotation Term="Capabilities.{term}Restrictions">{record}</Annotation>'
    return rows


def _property(space: str, owner: str, name: str, text: str) -> tuple[str, str]:
    """One property, and the enumeration it needs."""
    needed, text = text.endswith("!"), text.removesuffix("!")
    many, text = text.startswith("["), text.removeprefix("[").removesuffix("]")
    tag, extra = "Property", ""
    if text.startswith("link:"):
        tag, kind = "NavigationProperty", text[5:]
    elif text in PLAIN:
        kind = PLAIN[text]
    elif "." in text:
        own = text.partition(".")[0] == space.partition(".")[0]
        kind = f"{space}.{text.partition('.')[2]}" if own else text
    else:
        kind, extra = f"{space}.{owner}{name}Kind", _enum(f"{owner}{name}Kind", text.split("|"))
    kind = f"Collection({kind})" if many else kind
    inner = '<Annotation Term="Redfish.Required"/>' if needed else ""
    return f"<{tag} Name={quoteattr(name)} Type={quoteattr(kind)}>{inner}</{tag}>", extra


def _dynamic(kind: str) -> str:
    """Properties of any name, of this type."""
    rows = '<PropertyValue Property="Pattern" String="^[A-Za-z][A-Za-z0-9_]*$"/>'
    rows += f'<PropertyValue Property="Type" String="{kind}"/>'
    term = 'Term="Redfish.DynamicPropertyPatterns"'
    return f"<Annotation {term}><Collection><Record>{rows}</Record></Collection></Annotation>"


def _properties(space: str, owner: str, rows: dict[str, str]) -> tuple[str, str]:
    pairs = [_property(space, owner, name, text) for name, text in rows.items() if name != "*"]
    if "*" in rows:
        pairs.append((_dynamic(PLAIN[rows["*"]]), ""))
    return "".join(pair[0] for pair in pairs), "".join(pair[1] for pair in pairs)


def _schema(space: str, content: str) -> str:
    return f'<Schema xmlns="{EDM}" Namespace="{space}">\n{content}\n</Schema>\n'


def _object(name: str, data: dict[str, Any]) -> str:
    """A schema file that defines one object and no resource."""
    space = f"{name}.{data['version']}"
    inner, enums = _properties(space, name, data["object"])
    first = _schema(name, f'<ComplexType Name="{name}" Abstract="true"/>')
    return first + _schema(space, f'<ComplexType Name="{name}" BaseType="{name}.{name}">{inner}</ComplexType>{enums}')


def _resource(name: str, data: dict[str, Any]) -> str:
    space = f"{name}.{data['version']}"
    inner, enums = _properties(space, name, data["properties"])
    actions = "".join(f'<Action Name="{action}" IsBound="true"/>' for action in data.get("actions", ()))
    notes = _annotations(data.get("uris", []), data.get("methods", []))
    first = (
        f'<EntityType Name="{name}" BaseType="Resource.v1_0_0.Resource" Abstract="true">{notes}</EntityType>{actions}'
    )
    content = f'<EntityType Name="{name}" BaseType="{name}.{name}">{inner}</EntityType>{enums}'
    if actions:
        oem = '<Property Name="Oem" Type="Resource.Oem"/>'
        content += f'<ComplexType Name="Actions">{oem}</ComplexType>'
    for child, rows in data.get("objects", {}).items():
        inner, enums = _properties(space, child, rows)
        content += f'<ComplexType Name="{child}">{inner}</ComplexType>{enums}'
    return _schema(name, first) + _schema(space, content)


def _collection(name: str, data: dict[str, Any]) -> str:
    full, own = f"{name}Collection", data["collection"]
    members = f'<NavigationProperty Name="Members" Type="Collection({name}.{name})" Nullable="false"/>'
    notes = _annotations(own["uris"], own.get("methods", []))
    base = 'BaseType="Resource.v1_0_0.ResourceCollection"'
    return _schema(full, f'<EntityType Name="{full}" {base}>{notes}{members}</EntityType>')


def _base() -> str:
    oem = f'<ComplexType Name="Oem">{_dynamic("Resource.OemObject")}</ComplexType>'
    oem += '<ComplexType Name="OemObject" Abstract="true"/>'
    loose = _enum("State", STATES.split()) + _enum("Health", ["OK", "Warning", "Critical"]) + STATUS
    needed = '<Annotation Term="Redfish.Required"/>'
    name = f'<Property Name="Name" Type="Edm.String" Nullable="false">{needed}</Property>'
    name += '<Property Name="Description" Type="Edm.String"/><Property Name="Oem" Type="Resource.Oem"/>'
    identity = f'<Property Name="Id" Type="Edm.String" Nullable="false">{needed}</Property>'
    first = f'<EntityType Name="Resource" BaseType="Resource.Item">{identity}{name}</EntityType>'
    many = f'<EntityType Name="ResourceCollection" BaseType="Resource.Item">{name}</EntityType>'
    return _schema("Resource", ITEM + oem + loose) + _schema("Resource.v1_0_0", first + many)


def files() -> dict[str, str]:
    """File name to text, as a schema directory holds them."""
    found = {"Resource_v1.xml": HEAD + _base() + TAIL}
    for name, data in schemas().items():
        found[f"{name}_v1.xml"] = HEAD + (_object(name, data) if "object" in data else _resource(name, data)) + TAIL
        if "collection" in data:
            found[f"{name}Collection_v1.xml"] = HEAD + _collection(name, data) + TAIL
    return found


def write(folder: Path) -> None:
    """Lay the schemas down as files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files().items():
        (folder / name).write_text(text, encoding="utf-8")


def metadata() -> str:
    """/redfish/v1/$metadata: which schemas the service uses, by the standard's own addresses."""
    rows = ""
    for name, data in schemas().items():
        space = f"{name}.{data['version']}"
        rows += f'<edmx:Reference Uri="http://redfish.dmtf.org/schemas/v1/{name}_v1.xml">\n'
        rows += f'<edmx:Include Namespace="{name}"/><edmx:Include Namespace="{space}"/>\n</edmx:Reference>\n'
    container = '<EntityContainer Name="Service" Extends="ServiceRoot.v1_15_0.ServiceContainer"/>'
    return HEAD.replace("<edmx:DataServices>\n", rows + "<edmx:DataServices>\n") + _schema("Service", container) + TAIL


def odata() -> dict[str, Any]:
    """/redfish/v1/odata."""
    names = ("AccountService", "Chassis", "Managers", "SessionService", "Systems", "UpdateService")
    rows = [{"name": name, "kind": "Singleton", "url": f"/redfish/v1/{name}"} for name in names]
    return {"@odata.context": "/redfish/v1/$metadata", "value": rows}
