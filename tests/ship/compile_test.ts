/**
 * `deno task compile` without a network: the runtime part of an executable would be downloaded, so
 * Deno itself replaces it. The embedded files are real, but the executables cannot run.
 */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { z } from "zod";
import config from "../../deno.json" with { type: "json" };
import { runTask } from "./support.ts";
import { withFolder } from "../support/files.ts";

const metadataSchema = z.object({
  argv: z.array(z.string()),
  permissions: z.object({
    allow_env: z.array(z.string()).nullable(),
    allow_net: z.array(z.string()).nullable(),
    allow_read: z.array(z.string()).nullable(),
    allow_write: z.array(z.string()).nullable(),
    allow_run: z.null(),
    allow_ffi: z.null(),
    allow_sys: z.null(),
  }),
});

/** What Deno wrote into an executable about how it starts. */
async function metadataOf(file: string): Promise<z.output<typeof metadataSchema>> {
  const text = new TextDecoder("latin1").decode(await Deno.readFile(file));
  const [, argv] = /"argv":(\[[^\]]*\])/.exec(text) ?? assert.fail("No metadata");
  const [, permissions] = /"permissions":(\{[^}]*\})/.exec(text) ?? assert.fail("No metadata");
  return metadataSchema.parse({
    argv: JSON.parse(argv ?? ""),
    permissions: JSON.parse(permissions ?? ""),
  });
}

/** The smallest program for Windows: headers, and an empty section. */
function emptyWindowsProgram(): Uint8Array {
  const bytes = new Uint8Array(0x400);
  const view = new DataView(bytes.buffer);
  const text = new TextEncoder();
  bytes.set(text.encode("MZ"));
  view.setUint32(0x3c, 0x40, true); // where the headers begin
  bytes.set(text.encode("PE\0\0"), 0x40);
  view.setUint16(0x44, 0x8664, true); // x86-64
  view.setUint16(0x46, 1, true); // sections
  view.setUint16(0x54, 240, true); // bytes of the optional header
  view.setUint16(0x56, 0x22, true); // an executable
  view.setUint16(0x58, 0x20b, true); // 64 bits
  view.setUint32(0x78, 0x1000, true); // alignment in memory
  view.setUint32(0x7c, 0x200, true); // alignment in the file
  view.setUint32(0x90, 0x2000, true); // bytes in memory
  view.setUint32(0x94, 0x200, true); // bytes of all headers
  view.setUint32(0xc4, 16, true); // directories, none of them used
  bytes.set(text.encode(".text"), 0x148);
  view.setUint32(0x150, 0x200, true); // bytes of the section in memory, and where
  view.setUint32(0x154, 0x1000, true);
  view.setUint32(0x158, 0x200, true); // and in the file
  view.setUint32(0x15c, 0x200, true);
  view.setUint32(0x16c, 0x60000020, true); // code
  return bytes;
}

const ICON_SIZES = [256, 128, 48, 32, 24, 16];

const target = "x86_64-pc-windows-msvc";

Deno.test(
  "compile: an executable has its task's command and permissions, the page of the console, and on Windows the icon in all its sizes",
  {
    timeout: 180_000, // it bundles the whole program
  },
  () =>
    withFolder(async (outdir) => {
      const runtime = `${outdir}/runtime.exe`;
      await Deno.writeFile(runtime, emptyWindowsProgram());
      const args = ["compile", `--outdir=${outdir}`, `--target=${target}`, "bridge", "all"];
      const { code, text } = await runTask(args, { DENORT_BIN: runtime });
      assert.equal(code, 0, text);

      const bridge = await metadataOf(`${outdir}/${target}/rangemaker-bridge.exe`);
      assert.deepEqual(bridge.argv, ["bridge"]);
      const [, variables = ""] = /--allow-env=(\S+)/.exec(config.tasks.bridge) ?? [];
      assert.deepEqual(bridge.permissions.allow_env, variables.split(","));
      assert.deepEqual(bridge.permissions.allow_write, ["/"]);

      const { argv, permissions } = await metadataOf(`${outdir}/${target}/rangemaker.exe`);
      assert.deepEqual(argv, []);
      for (const variable of ["SOLVER_PRIVATE_KEY*", "BROADCAST_CAPACITY", "RANGEMAKER_*"]) {
        assert(permissions.allow_env?.includes(variable), variable);
      }
      assert.deepEqual(permissions.allow_net, [], "every host");
      assert.deepEqual(permissions.allow_write, ["/"]);

      // The console's page is embedded: without sources it cannot be bundled.
      const executable = Buffer.from(await Deno.readFile(`${outdir}/${target}/rangemaker.exe`));
      const page = await Deno.readFile(`${outdir}/bundle/console_page/main.js`);
      assert(
        page.length > 50_000 && executable.includes(Buffer.from(page)),
        `${page.length} bytes`,
      );

      const images = executable.toString("latin1").matchAll(/PNG\r\n.{6}IHDR/gs);
      // What begins an image has 15 bytes after the first; then comes its width.
      const widths = [...images].map(({ index }) => executable.readUInt32BE(index + 15));
      assert.deepEqual(widths.toSorted((one, other) => other - one), ICON_SIZES);
    }),
);

Deno.test("compile: an unknown executable is refused, with the names of all", async () => {
  const { code, text } = await runTask(["compile", "proxi"]);
  assert.equal(code, 1);
  const names = "solver, bridge, proxy, oracle, node, backfill, console, exchanges";
  assert(text.includes(`Unknown executable proxi: expected all, ${names}\n`), text);
});
