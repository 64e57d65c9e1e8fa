/** The units of docs/deployment/systemd, judged by systemd's own tools. */
import assert from "node:assert/strict";
import { z } from "zod";
import { createKeystore } from "../../lib/cli/keystore.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import config from "../../deno.json" with { type: "json" };
import { withFolder } from "../support/files.ts";
import { bundledProgram, Program, TEST_KEYSTORE_COST } from "../support/process.ts";
import { passagesOf } from "./documents.ts";
import { filePath, hasProgram, readText, readYaml, run } from "./support.ts";

/** The highest exposure that systemd may see, of 10. */
const EXPOSURE_MAX = 1.4;

const SERVICES = ["solver", "bridge", "proxy", "oracle", "node", "exchanges", "console"];
const CONFINED = [...SERVICES.map((name) => `rangemaker-one@${name}`), "rangemaker-proxy@0"]
  .map((name) => `${name}.service`);
const UNITS = [...CONFINED, "backup-rangemaker.service", "backup-rangemaker.timer"];

/** A root folder with the units, the program that they start, and the targets that they name. */
function withUnits(test: (root: string) => Promise<void>): Promise<void> {
  return withFolder(async (root) => {
    const [etc, lib] = [`${root}/etc/systemd`, `${root}/usr/lib/systemd/system`];
    for (const folder of [etc, lib, `${root}/usr/bin`]) {
      await Deno.mkdir(folder, { recursive: true });
    }
    const units = filePath("docs/deployment/systemd");
    const { code, text } = await run("cp", ["-r", units, `${etc}/system`]);
    assert.equal(code, 0, text);
    for (const program of ["env", "sh"]) {
      await Deno.writeTextFile(`${root}/usr/bin/${program}`, "", { mode: 0o755 });
    }
    await Deno.symlink("usr/bin", `${root}/bin`);
    const targets = ["network-online", "multi-user", "sysinit", "basic", "shutdown", "timers"];
    for (const target of targets) {
      await Deno.writeTextFile(`${lib}/${target}.target`, "[Unit]\nDescription=of the system\n");
    }
    await test(root);
  });
}

Deno.test("systemd: a start that fails is repeated every two seconds, without an end", async () => {
  const settings = await readText("docs/deployment/systemd/rangemaker-.service.d/hardening.conf");
  const [, unit = "", service = ""] = settings.split(/^\[(?:Unit|Service)\]$/m);
  assert.match(unit, /^StartLimitIntervalSec=0$/m);
  assert.match(service, /^Restart=always\nRestartSec=2$/m);
});

Deno.test("systemd: each service has a user of its own", () => {
  const unit = readText("docs/deployment/systemd/rangemaker-one@.service");
  assert.match(unit, /^User=rangemaker-%i$/m);
  const settings = readText("docs/deployment/systemd/rangemaker-.service.d/hardening.conf");
  assert.match(settings, /^DynamicUser=yes$/m);
});

Deno.test("systemd: at boot, copies wait for the database", () => {
  const unit = readText("docs/deployment/systemd/backup-rangemaker.service");
  assert.match(unit, /^After=.* postgresql\.service$/m);
});

Deno.test({
  name: "systemd: every unit is valid and confined, and starts a task of deno.json",
  ignore: !hasProgram("systemd-analyze", "--version"),
  fn: () =>
    withUnits(async (root) => {
      for (const name of SERVICES) assert(name in config.tasks, name);
      for (const unit of UNITS) {
        const { code, text: found } = await run("systemd-analyze", [
          ...["verify", `--root=${root}`, unit],
        ]);
        assert.deepEqual([code, found], [0, ""], unit);
        if (!CONFINED.includes(unit)) continue;
        const { text } = await run("systemd-analyze", [
          ...["security", "--offline=true", "--no-pager", `--root=${root}`, unit],
        ]);
        const [, exposure = "10"] = /Overall exposure level for \S+: ([\d.]+)/.exec(text) ?? [];
        assert(Number(exposure) <= EXPOSURE_MAX, `${unit}: ${text.slice(-200)}`);
      }
    }),
});

const { relayer, solver, admin } = DEV_ACCOUNTS;

const { PATH = "", HOME = "", DENO_DIR = `${HOME}/.cache/deno` } = Deno.env.toObject();

/** A shipped file, with the folders of a machine in a temporary one and the checkout here. */
function installed(path: string, folder: string): string {
  return readText(`docs/deployment/${path}`)
    .replaceAll("/etc/rangemaker", `${folder}/etc`)
    .replaceAll("/var/lib/rangemaker", folder)
    .replaceAll("/opt/rangemaker/", filePath("."))
    .replace("RELAYER", relayer.address).replace("ADMIN", admin.address)
    .replace('SOLVER"', `${solver.address}"`);
}

/** Runs a test with the shipped settings, keystores, and the wrapper in a folder. */
function withMachine(test: (folder: string, env: Record<string, string>) => Promise<void>) {
  return withFolder(async (folder) => {
    await Deno.mkdir(`${folder}/etc`);
    for (const [name, { privateKey }] of Object.entries({ bridge: relayer, solver })) {
      await Deno.writeTextFile(`${folder}/etc/${name}.password`, "correct horse\n");
      await createKeystore(
        `${folder}/etc/${name}.json`,
        privateKey,
        "correct horse",
        TEST_KEYSTORE_COST,
      );
    }
    const settings = `${folder}/etc/settings.toml`;
    await Deno.writeTextFile(settings, installed("settings.toml", folder));
    await test(folder, { DENO_DIR, KAIZEN_RPC_URL: "http://127.0.0.1:1" });
  });
}

Deno.test("systemd: units start with the shipped settings, and keep their data in their folders", () =>
  withMachine(async (folder, env) => {
    const unit = installed("systemd/rangemaker-one@.service", folder);
    const [, command = ""] = /^ExecStart=(.*)$/m.exec(unit) ?? [];
    const [config = ""] = /RANGEMAKER_CONFIG=\S+/.exec(unit) ?? [];
    const files = {
      node: "node/data/node/chain.sqlite",
      bridge: "bridge/data/bridge.sqlite",
      solver: "solver/data/solver.sqlite",
    };
    for (const [name, file] of Object.entries(files)) {
      const cwd = `${folder}/${name}`;
      await Deno.mkdir(cwd);
      const options = name === "node" ? "--port 0 --read-port 0" : "--port 0";
      const script = `export ${config} OPTIONS='${options}'; exec ${
        command.replaceAll("%i", name)
      }`;
      const program = new Program([script], env, { command: "bash", args: ["-c"], cwd });
      await program.url();
      await program.stop();
      assert((await Deno.stat(`${folder}/${file}`)).isFile, name);
    }
  }));

Deno.test("Wrapper: root's rangemaker command has the units' settings and database URLs", () =>
  withMachine(async (folder, env) => {
    await Deno.writeTextFile(`${folder}/etc/bridge.database`, `${folder}/of-the-file.sqlite\n`);
    const wrapper = installed("rangemaker", folder);
    const runHere = (...words: string[]) =>
      new Program(["-c", wrapper, "rangemaker", ...words], env, {
        command: "sh",
        args: [],
        cwd: `${folder}/etc`,
      }).finished();
    const keystore = ["--keystore", "bridge.json", "--keystore-password-file", "bridge.password"];
    assert.equal((await runHere("key", "show", ...keystore)).stdout.trim(), relayer.address);
    const { stdout } = await runHere("doctor", "bridge", "--timeout-ms", "500");
    assert.match(stdout, new RegExp(`bridge  key +Signs as ${relayer.address}`));
    assert.match(stdout, /bridge +store +\S+\/of-the-file\.sqlite has no tables of rangemaker/);
  }));

/** The block of the chapter on systemd that begins with a command. */
function blockOf(beginning: string): string {
  const block =
    passagesOf("docs/deploying.md").find(({ chapter, commands }) =>
      chapter.startsWith("## systemd\n") && commands[0]?.text.startsWith(beginning)
    ) ?? assert.fail(beginning);
  return block.commands.map(({ text }) => text).join("\n");
}

/** Runs commands of root in a folder instead of `/etc/rangemaker`, with simulated services. */
async function playIn(folder: string, commands: string, standIns: string): Promise<string> {
  await Deno.mkdir(`${folder}/bin`, { recursive: true });
  await Deno.writeTextFile(
    `${folder}/etc/settings.toml`,
    readText("docs/deployment/settings.toml"),
  );
  const wrapper = `${folder}/bin/rangemaker`;
  const { args } = await bundledProgram();
  const script = installed("rangemaker", folder)
    .replace(filePath("main.ts"), args.at(-1) ?? "");
  await Deno.writeTextFile(wrapper, script, { mode: 0o755 });
  const here = commands
    .replaceAll(/\/etc\/(?=prometheus\b)/g, `${folder}/`)
    .replaceAll("/opt/rangemaker/", filePath("."));
  const program = new Program(["-c", `umask 022\n${standIns}\n${here}`], {
    PATH: `${folder}/bin:${PATH}`,
    DENO_DIR,
  }, { command: "bash", args: [], cwd: `${folder}/etc` });
  return (await program.finished()).stdout;
}

const modeOf = async (path: string) => ((await Deno.stat(path)).mode ?? 0) & 0o777;

Deno.test("systemd: the commands for new keys and passwords keep existing ones", {
  timeout: 180_000,
}, () =>
  withFolder(async (folder) => {
    await Deno.mkdir(`${folder}/etc`);
    const commands = blockOf("for name in bridge solver admin");
    const database = 'runuser() { echo "$BRIDGE_DATABASE_PASSWORD" "$SOLVER_DATABASE_PASSWORD"; }';
    const [relayer, solver, admin, made = ""] = (await playIn(folder, commands, database)).split(
      "\n",
    );
    const [again] = (await playIn(folder, commands, database)).split("\n");
    assert.equal(again, made);
    const show = "for name in bridge solver admin; do rangemaker key show " +
      "--keystore $name.json --keystore-password-file $name.password; done";
    assert.deepEqual((await playIn(folder, show, "")).trim().split("\n"), [relayer, solver, admin]);
    const urls = await Promise.all(["bridge", "solver"].map(async (name) => {
      assert.equal(await modeOf(`${folder}/etc/${name}.database`), 0o600);
      const { username, password, pathname } = new URL(
        await Deno.readTextFile(`${folder}/etc/${name}.database`),
      );
      assert.deepEqual([username, pathname], [name, `/${name}`]);
      return password;
    }));
    assert.match(made, /^[0-9a-f]{64} [0-9a-f]{64}$/);
    assert.equal(urls.join(" "), made);
  }));

Deno.test({
  name: "systemd: Prometheus and Alertmanager can read the generated files, and accept them",
  ignore: !hasProgram("promtool", "--version") || !hasProgram("amtool", "--version"),
  fn: () =>
    withFolder(async (folder) => {
      for (const name of ["etc", "prometheus"]) await Deno.mkdir(`${folder}/${name}`);
      const standIns = `chown() { echo "$@"; }; systemctl() { echo "$@"; }`;
      const printed = await playIn(folder, blockOf("sed 's/"), standIns);
      assert.match(
        printed,
        /^prometheus: .*slack_url\nrestart prometheus prometheus-alertmanager\n$/,
      );
      const at = (name: string) => `${folder}/prometheus/${name}`;
      for (const name of ["prometheus.yml", "alerts.yml", "alertmanager.yml"]) {
        assert.equal(await modeOf(at(name)), 0o644, name);
      }
      assert.equal(await modeOf(at("slack_url")), 0o600);
      const cases = [
        ["promtool", "check", "config", at("prometheus.yml")],
        ["promtool", "check", "config", filePath("docs/monitoring/prometheus.yml")],
        ["amtool", "check-config", at("alertmanager.yml")],
      ] as const;
      for (const [tool, verb, ...words] of cases) {
        const { code, text } = await run(tool, [verb, ...words]);
        assert.equal(code, 0, text);
      }
      const targets = [
        ...(await Deno.readTextFile(at("prometheus.yml"))).matchAll(/targets: \["(\w+):/g),
      ];
      assert.deepEqual(new Set(targets.map(([, host]) => host)), new Set(["localhost"]));
      assert((await Deno.readTextFile(at("alertmanager.yml"))).includes(at("slack_url")));
    }),
});

Deno.test({
  name: "Alertmanager: a message names every alert of its group, and whether it has ended",
  ignore: !hasProgram("amtool", "--version"),
  fn: () =>
    withFolder(async (folder) => {
      const alerts = ["firing", "resolved"].map((status) => ({
        status,
        annotations: { summary: `node: No price, ${status}` },
      }));
      const group = { groupLabels: { alertname: "A" }, commonAnnotations: { runbook_url: "url" } };
      const data = { status: "firing", alerts, ...group };
      await Deno.writeTextFile(`${folder}/data.json`, JSON.stringify(data));
      await Deno.writeTextFile(`${folder}/none.tmpl`, "");
      const shown = "firing: node: No price, firing\nresolved: node: No price, resolved\nurl";
      const { receivers } = receiversSchema.parse(readYaml("docs/monitoring/alertmanager.yml"));
      for (const { slack_configs: [message] } of receivers) {
        const rendered = await Promise.all([message.title, message.text].map(async (text) => {
          const files = [`--template.glob=${folder}/*.tmpl`, `--template.data=${folder}/data.json`];
          const words = ["template", "render", ...files, `--template.text=${text}`];
          return (await run("amtool", words)).text.trim();
        }));
        assert.deepEqual(rendered, ["A, firing", shown]);
      }
    }),
});

const receiversSchema = z.object({
  receivers: z.array(z.object({
    slack_configs: z.tuple([z.object({ title: z.string(), text: z.string() })]),
  })),
});
