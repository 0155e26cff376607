// The part of `peers` that runs in Node; see peers_worker.py for its input and output.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { checkCommand } = await import(pathToFileURL(process.argv[2]).href);
const cwd = process.cwd();

for await (const line of createInterface({ input: process.stdin })) {
  const found = JSON.parse(line).map((command) => {
    const begun = process.cpuUsage();
    const answer = checkCommand({ command, cwd });
    const spent = process.cpuUsage(begun);
    return [spent.user + spent.system, answer.kind !== "allow"];
  });
  process.stdout.write(`${JSON.stringify(found)}\n`);
}
