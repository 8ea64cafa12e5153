# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Accounts and sessions: who may come in, how many at a time."""

from __future__ import annotations

import base64
import hmac
import secrets
from dataclasses import dataclass, field

from simfleet.bmc.messages import Refused, Request

ROLES = ("Administrator", "Operator", "ReadOnly")


@dataclass
class Account:
    """A user of the BMC."""

    user: str
    password: str
    role: str = "Administrator"
    enabled: bool = True


@dataclass
class Gate:
    """The accounts by id and the open sessions by token."""

    limit: int
    accounts: dict[str, Account] = field(default_factory=dict)
    sessions: dict[str, tuple[str, str]] = field(default_factory=dict)  # token: (id, user)
    opened: int = 0
    most: int = 0

    def _holds(self, user: str, password: str) -> bool:
        return any(
            account.user == user
            and account.enabled
            and hmac.compare_digest(account.password.encode(), password.encode())
            for account in self.accounts.values()
        )

    def login(self, user: str, password: str, taken: int) -> tuple[str, str]:
        """Open a session: (id, token). `taken` slots are somebody else's. Raises Refused 401 or 503."""
        if not self._holds(user, password):
            raise Refused(401, "ResourceAtUriUnauthorized", "/redfish/v1/SessionService/Sessions")
        if len(self.sessions) + taken >= self.limit:
            text = "The maximum number of user sessions is reached."
            raise Refused(503, "IDRAC.2.4.RAC0218", text=text)
        self.opened += 1
        identity, token = str(self.opened), secrets.token_hex(16)
        self.sessions[token] = (identity, user)
        self.most = max(self.most, len(self.sessions))
        return identity, token

    def logout(self, identity: str) -> bool:
        """Close a session by its id; False when there is none."""
        for token, (number, _) in list(self.sessions.items()):
            if number == identity:
                del self.sessions[token]
                return True
        return False

    def who(self, request: Request) -> str | None:
        """The user of a request, by token or by basic authentication; None for a stranger."""
        token = request.headers.get("x-auth-token")
        if token is not None:
            return self.sessions.get(token, (None, None))[1]
        kind, _, coded = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "basic":
            return None
        try:
            user, _, password = base64.b64decode(coded).decode().partition(":")
        except ValueError:
            return None
        return user if self._holds(user, password) else None
