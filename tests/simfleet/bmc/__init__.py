# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A BMC per simulated node: Redfish over HTTPS, with the ways of four makers and the troubles people report."""
