/**
 * A power loss: writes and flushes of a chain are traced. At points between them the disk keeps all
 * flushed data, and random sectors of the rest.
 */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import type { RandomSource } from "../../../lib/random.ts";
import { withSeed } from "../../support/random.ts";
import { withFolder } from "../../support/files.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { DiskChain } from "../support/chains.ts";

const SECTOR_BYTES = 512;
const DEPOSITS = 25;

/** Points at which the power is lost: more with `POWER_LOSSES=240`. */
const POINTS = Number(Deno.env.get("POWER_LOSSES") ?? 30);

const hasTracer = Deno.build.os === "linux" &&
  await new Deno.Command("strace", { args: ["-V"] }).output().then(() => true, () => false);

/** A call of the traced program. */
type Call =
  | { kind: "write"; path: string; at: number; bytes: Uint8Array<ArrayBuffer> }
  | { kind: "sync" | "remove"; path: string }
  | { kind: "cut"; path: string; length: number }
  | { kind: "acknowledged"; deposits: number };

/** Runs a chain in a program that prints each deposit that was committed. @returns Its calls. */
async function trace(folder: string): Promise<Call[]> {
  const file = `${folder}/trace`;
  const script = fileURLToPath(new URL("../support/power_loss_program.ts", import.meta.url));
  const calls = "openat,pwrite64,write,lseek,fsync,fdatasync,ftruncate,unlink,unlinkat";
  const options = ["-f", "-y", "-xx", "-s", "100000", "-e", `trace=${calls}`, "-o", file];
  const program = [Deno.execPath(), "run", "--no-check", "--allow-all", script];
  const { success, stderr } = await new Deno.Command("strace", {
    args: [...options, ...program, `${folder}/node`, `${DEPOSITS}`],
    stderr: "piped",
  }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
  const lines = wholeLines((await Deno.readTextFile(file)).split("\n"));
  return [...lines].flatMap((line) => callOf(line) ?? []);
}

/** A call during which another thread made one is on two lines; it is one here, where it ended. */
function* wholeLines(lines: readonly string[]): Iterable<string> {
  const begun = new Map<string, string>();
  for (const line of lines) {
    const [, thread = "", call = ""] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const [, start] = /^(.*) <unfinished \.\.\.>$/.exec(call) ?? [];
    const [, end] = /^<\.\.\. \w+ resumed>(.*)$/.exec(call) ?? [];
    if (start !== undefined) begun.set(thread, start);
    else yield end === undefined ? line : `${thread} ${begun.get(thread)}${end}`;
  }
}

function callOf(line: string): Call | undefined {
  const [, name, rest = ""] = /^\d+ +(\w+)\((.*)$/.exec(line) ?? [];
  const path = /^\d+<([^>]+)>/.exec(rest)?.[1] ?? "";
  const decoded = decode(path);
  const bytesOf = () =>
    Uint8Array.fromHex((/"((?:\\x[0-9a-f]{2})*)"/.exec(rest)?.[1] ?? "").replaceAll("\\x", ""));
  if (name === "write" && rest.startsWith("1<")) {
    const [, deposits] = /^committed (\d+)/.exec(new TextDecoder().decode(bytesOf())) ?? [];
    return deposits === undefined
      ? undefined
      : { kind: "acknowledged", deposits: Number(deposits) };
  }
  if (name === "unlink") return { kind: "remove", path: decode(/"([^"]*)"/.exec(rest)?.[1] ?? "") };
  if (!/chain\.sqlite(-wal)?$/.test(decoded)) return undefined;
  if (name === "pwrite64") {
    const at = Number(/, (\d+)\) += \d+$/.exec(rest)?.[1]);
    return { kind: "write", path: decoded, at, bytes: bytesOf() };
  }
  if (name === "ftruncate") {
    return { kind: "cut", path: decoded, length: Number(/, (\d+)\)/.exec(rest)?.[1]) };
  }
  return name === "fsync" || name === "fdatasync" ? { kind: "sync", path: decoded } : undefined;
}

function decode(path: string): string {
  return path.replaceAll(/\\x([0-9a-f]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
}

/** A file on a disk that may lose its power. */
class TracedFile {
  #flushed = new Uint8Array(0);
  #current = new Uint8Array(0);

  write(at: number, bytes: Uint8Array): void {
    const grown = new Uint8Array(Math.max(this.#current.length, at + bytes.length));
    grown.set(this.#current);
    grown.set(bytes, at);
    this.#current = grown;
  }

  cut(length: number): void {
    const cut = new Uint8Array(length);
    cut.set(this.#current.subarray(0, length));
    this.#current = cut;
  }

  sync(): void {
    this.#flushed = this.#current.slice();
  }

  /** The remaining data: of unflushed writes, each sector may be there or not. */
  afterPowerLoss(random: RandomSource): Uint8Array {
    const length = random() < 0.5 ? this.#flushed.length : this.#current.length;
    const left = new Uint8Array(length);
    for (let at = 0; at < length; at += SECTOR_BYTES) {
      const from = random() < 0.5 ? this.#flushed : this.#current;
      left.set(from.subarray(at, Math.min(at + SECTOR_BYTES, length)), at);
    }
    return left;
  }
}

/** The files after some of the calls, and how many deposits were acknowledged by then. */
function replay(calls: readonly Call[], random: RandomSource) {
  const files = new Map<string, TracedFile>();
  let acknowledged = 0;
  for (const call of calls) {
    if (call.kind === "acknowledged") {
      acknowledged = call.deposits;
      continue;
    }
    const file = files.get(call.path) ?? new TracedFile();
    files.set(call.path, file);
    if (call.kind === "write") file.write(call.at, call.bytes);
    if (call.kind === "cut") file.cut(call.length);
    if (call.kind === "sync") file.sync();
    if (call.kind === "remove") files.delete(call.path);
  }
  const left = [...files].map(([path, file]) => [path, file.afterPowerLoss(random)] as const);
  return { left, acknowledged };
}

Deno.test({
  name: "Data directory: after a power loss at any moment, every acknowledged deposit is there",
  ignore: !hasTracer,
  fn: () =>
    withFolder((folder) =>
      withSeed(async (random) => {
        const calls = await trace(folder);
        const acknowledged = calls.filter(({ kind }) => kind === "acknowledged");
        assert.equal(acknowledged.length, DEPOSITS, "the trace has every one");
        const first = calls.findIndex(({ kind }) => kind === "acknowledged");
        for (let point = 0; point < POINTS; point++) {
          const end = first + Math.floor(random() * (calls.length - first));
          const { left, acknowledged } = replay(calls.slice(0, end + 1), random);
          const path = `${folder}/after`;
          Deno.mkdirSync(path);
          for (const [file, bytes] of left) {
            Deno.writeFileSync(`${path}/${file.split("/").at(-1)}`, bytes);
          }
          const disk = new DiskChain(path, new FakeClock());
          const { deposits } = disk.storage.records.state.totals;
          assert.ok(deposits.rows >= acknowledged, `${deposits.rows} of ${acknowledged}`);
          disk.requireConserved();
          await disk.close();
          Deno.removeSync(path, { recursive: true });
        }
      })
    ),
});
