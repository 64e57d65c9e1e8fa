/** The units of docs/deployment/systemd, judged by systemd's own tools. */
import assert from "node:assert/strict";
import config from "../../deno.json" with { type: "json" };
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { withFolder } from "../support/files.ts";
import { Program } from "../support/process.ts";
import { fileUrl, hasProgram, readText } from "./support.ts";

/** The highest exposure that systemd may see, of 10. */
const EXPOSURE_MAX = 1.4;

const SERVICES = ["solver", "bridge", "proxy", "oracle", "node", "exchanges", "console"];
const UNITS = [...SERVICES.map((name) => `rangemaker-one@${name}`), "rangemaker-proxy@0"];

async function run(command: string, args: string[]) {
  const { code, stdout, stderr } = await new Deno.Command(command, { args }).output();
  const decoder = new TextDecoder();
  return { code, text: decoder.decode(stdout) + decoder.decode(stderr) };
}

/** A root folder with the units, the program that they start, and the targets that they name. */
function withUnits(test: (root: string) => Promise<void>): Promise<void> {
  return withFolder(async (root) => {
    const [etc, lib] = [`${root}/etc/systemd`, `${root}/usr/lib/systemd/system`];
    for (const folder of [etc, lib, `${root}/usr/bin`]) {
      await Deno.mkdir(folder, { recursive: true });
    }
    const units = fileUrl("docs/deployment/systemd").pathname;
    const { code, text } = await run("cp", ["-r", units, `${etc}/system`]);
    assert.equal(code, 0, text);
    await Deno.writeTextFile(`${root}/usr/bin/env`, "", { mode: 0o755 });
    for (const target of ["network-online", "multi-user", "sysinit", "basic", "shutdown"]) {
      await Deno.writeTextFile(`${lib}/${target}.target`, "[Unit]\nDescription=of the system\n");
    }
    await test(root);
  });
}

Deno.test({
  name: "systemd: every unit is valid and confined, and starts a task of deno.json",
  ignore: !hasProgram("systemd-analyze", "--version"),
  fn: () =>
    withUnits(async (root) => {
      for (const name of SERVICES) assert(name in config.tasks, name);
      for (const unit of UNITS) {
        const verified = await run("systemd-analyze", [
          ...["verify", `--root=${root}`, `${unit}.service`],
        ]);
        assert.deepEqual(verified, { code: 0, text: "" }, unit);
        const { text } = await run("systemd-analyze", [
          ...["security", "--offline=true", "--no-pager", `--root=${root}`, `${unit}.service`],
        ]);
        const [, exposure = "10"] = /Overall exposure level for \S+: ([\d.]+)/.exec(text) ?? [];
        assert(Number(exposure) <= EXPOSURE_MAX, `${unit}: ${text.slice(-200)}`);
      }
    }),
});

Deno.test({
  name: "systemd: an unknown setting in a unit is noticed",
  ignore: !hasProgram("systemd-analyze", "--version"),
  fn: () =>
    withUnits(async (root) => {
      const folder = `${root}/etc/systemd/system`;
      await Deno.writeTextFile(`${folder}/rangemaker-.service.d/x.conf`, "[Service]\nNoSuch=1\n");
      const unit = "rangemaker-one@oracle.service";
      const { text } = await run("systemd-analyze", ["verify", `--root=${root}`, unit]);
      assert.match(text, /NoSuch/);
    }),
});

/** The process of a unit: its `ExecStart`, in its working folder, with a checkout in `/opt`. */
function startUnit(name: string, folder: string, env: Record<string, string>): Program {
  const unit = readText("docs/deployment/systemd/rangemaker-one@.service");
  const [, command = ""] = /^ExecStart=(.*)$/m.exec(unit) ?? [];
  const here = command.replaceAll("%i", name).replace(
    "/opt/rangemaker/",
    fileUrl(".").pathname,
  );
  return new Program([`exec ${here}`], env, { command: "bash", args: ["-c"], cwd: folder });
}

Deno.test("systemd: node, bridge and solver keep their data in the folder of their unit", () =>
  withFolder(async (folder) => {
    const env = {
      PATH: Deno.env.get("PATH") ?? "",
      OPTIONS: "--port 0",
      RANGEMAKER_NODE_READ_PORT: "0",
      // Nobody listens there: they start nevertheless.
      KAIZEN_RPC_URL: "http://127.0.0.1:1",
      KAIZEN_WS_URL: "ws://127.0.0.1:1",
      BRIDGE_PRIVATE_KEY: DEV_ACCOUNTS.relayer.privateKey,
      SOLVER_PRIVATE_KEY: DEV_ACCOUNTS.solver.privateKey,
    };
    const files = { node: "node/chain.sqlite", bridge: "bridge.sqlite", solver: "solver.sqlite" };
    for (const [name, file] of Object.entries(files)) {
      const program = startUnit(name, folder, env);
      await program.until(({ stderr }) => stderr.includes("Listening on"));
      program.kill("SIGTERM");
      const { code, stderr } = await program.finished();
      assert.equal(code, 0, stderr);
      assert((await Deno.stat(`${folder}/data/${file}`)).isFile, name);
    }
  }));
