import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { channel } from "node:diagnostics_channel";
import { EventEmitter } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { isClosed, isInside } from "../../plugin/gateway/bridges.mjs";
import { Peers } from "../../plugin/gateway/connections.mjs";

/** What Linux shows of its interfaces. @param {string[]} folders @param {(devices: string) => void} look */
function shown(folders, look) {
  const devices = mkdtempSync(join(tmpdir(), "toolguard-net-"));
  try {
    for (const each of folders) mkdirSync(join(devices, each), { recursive: true });
    look(devices);
  } finally {
    rmSync(devices, { recursive: true });
  }
}

const INTERFACES = [
  "docker0/brif", "br-1f/brif/veth1", "veth1", "virbr0/brif/vnet0", "vnet0", "br0/brif/eth0", "br0/brif/veth2", "veth2",
  "eth0/device", "br1/brif/eth0.10", "eth0.10/lower_eth0", "br2/brif/bond0", "bond0/lower_eth1", "eth1/device", "tailscale0",
];

test("a bridge for containers and virtual machines is closed", () => {
  shown(INTERFACES, (devices) => {
    for (const name of ["docker0", "br-1f", "virbr0"]) assert.ok(isClosed(name, devices, "linux"), name);
  });
});

test("what leads to other devices is not", () => {
  shown(INTERFACES, (devices) => {
    for (const name of ["br0", "br1", "br2", "eth0", "veth1", "tailscale0", "gone"])
      assert.ok(!isClosed(name, devices, "linux"), name);
  });
});

test("on macOS, the bridges of virtual machines are", () => {
  assert.ok(isClosed("bridge100", "", "darwin"));
  assert.ok(!isClosed("bridge0", "", "darwin"));
  assert.ok(!isClosed("en0", "", "darwin"));
});

test("addresses of other networks are no containers", () => {
  for (const address of ["127.0.0.1", "::1", "203.0.113.9", "::ffff:203.0.113.9", "2001:db8::9", "fe80::1%eth9", "", "x"])
    assert.ok(!isInside(address), address);
});

const BRIDGE = `tgtest${process.pid % 10_000}`;

test("an address on a real bridge is one", { skip: made() ? false : "only root may make a bridge" }, async () => {
  try {
    assert.ok(isInside("10.213.77.9"));
    assert.ok(isInside("::ffff:10.213.77.9"));
    assert.ok(!isInside("10.213.78.9"));
    assert.deepEqual(await doubtful("10.213.77.9"), ["by a container or a virtual machine on this machine"]);
    assert.deepEqual(await doubtful("10.213.78.9"), []);
  } finally {
    execFileSync("ip", ["link", "del", BRIDGE]);
  }
});

/** Why a connection from there is in doubt. @param {string} remoteAddress */
async function doubtful(remoteAddress) {
  const socket = new EventEmitter();
  Object.assign(socket, { remoteAddress, remotePort: 50_000, localAddress: "10.213.77.1", localPort: 18_789 });
  channel("net.server.socket").publish({ socket });
  const peers = new Peers(/** @type {any} */ ({}), /** @type {any} */ ({}));
  const found = (await peers.senders()).peers.filter(({ closed }) => !closed);
  socket.emit("close");
  return found.map(({ why }) => why);
}

function made() {
  if (process.platform !== "linux") return false;
  try {
    execFileSync("ip", ["link", "add", "name", BRIDGE, "type", "bridge"], { stdio: "ignore" });
    execFileSync("ip", ["addr", "add", "10.213.77.1/24", "dev", BRIDGE], { stdio: "ignore" });
    execFileSync("ip", ["link", "set", BRIDGE, "up"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
