// Networks that exist only on this machine: bridges to which containers and virtual machines are attached.
//
// A program in a container connects from an address of its own, which looks like that of another device, and an agent can start
// containers. A bridge through which a network card is reached leads to other devices as well and does not count.

import { readdirSync } from "node:fs";
import { BlockList } from "node:net";
import { networkInterfaces } from "node:os";

const DEVICES = "/sys/class/net";
/** vmnet of macOS; `bridge0` joins Thunderbolt ports. */
const OF_MACOS = /^bridge1\d\d$/;
const MOST = 500;

/**
 * Whether an address is that of a container or a virtual machine on this machine.
 * @param {string} address
 */
export function isInside(address) {
  const [plain = "", zone] = address.replace(/^::ffff:/, "").split("%");
  if (zone) return isClosed(zone);
  const family = plain.includes(":") ? "ipv6" : "ipv4";
  const inside = new BlockList();
  for (const [name, addresses] of Object.entries(networkInterfaces()).slice(0, MOST))
    if (isClosed(name))
      for (const each of addresses ?? [])
        if (each.cidr) inside.addSubnet(each.address, Number(each.cidr.split("/")[1]), each.family === "IPv6" ? "ipv6" : "ipv4");
  return inside.check(plain, family);
}

/**
 * Whether a network is a bridge to which no network card is attached.
 * @param {string} name
 * @param {string} [devices]
 * @param {NodeJS.Platform} [platform]
 */
export function isClosed(name, devices = DEVICES, platform = process.platform) {
  if (platform === "darwin") return OF_MACOS.test(name);
  const members = listed(`${devices}/${name}/brif`);
  return members !== null && !members.some((member) => isCard(member, devices, 0));
}

/**
 * Whether an interface is a network card, or leads to one (`eth0.10`, `bond0`), or to the peers of a tunnel.
 * @param {string} name
 * @param {string} devices
 * @param {number} depth
 * @returns {boolean}
 */
function isCard(name, devices, depth) {
  const entries = listed(`${devices}/${name}`) ?? [];
  if (entries.includes("device") || depth > 4) return true;
  return entries.some((each) => each.startsWith("lower_") && isCard(each.slice("lower_".length), devices, depth + 1));
}

/** @param {string} folder */
function listed(folder) {
  try {
    return readdirSync(folder);
  } catch {
    return null; // no bridge, or not Linux
  }
}
