# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The one family of errors of the simulated fleet."""

from __future__ import annotations


class SimfleetError(Exception):
    """Something the person at the command line can act on; printed without a traceback."""


class FleetFileError(SimfleetError):
    """The fleet file says something that cannot be; the message names the place and what is allowed."""
