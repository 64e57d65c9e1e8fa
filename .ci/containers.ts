/**
 * `deno task containers`: builds the image, starts compose.yaml with podman, and tries it: the bet of
 * the README, users, file systems, health, memory limits, containers that are killed, `down` and `up`.
 * All of it is in namespaces of its own (mounts, processes, network): what it starts ends with it, and
 * no port or name of this machine is used. The base image is made from programs of this machine, as a
 * registry may be out of reach (`base_image.sh`); Grafana is left out.
 */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { parse, stringify } from "yaml";
import { z } from "zod";
import { systemClock } from "../lib/clock.ts";
import { CoreClient } from "../lib/net/core_client.ts";
import { DEV_ACCOUNTS } from "../lib/protocol/dev_accounts.ts";
import { playBet } from "../services/stack/bet.ts";
import { runProgram } from "./program.ts";

/** Set for the process inside the namespaces. */
const INSIDE = "CONTAINERS_INSIDE";

/** How long a state may take to come about, and how often it is looked at. */
const PATIENCE_MS = 60_000;
const PAUSE_MS = 1_000;

/** Ends what has no more to do within its time: a build or a container that hangs. */
const RUN_MAX = "400s";

const root = fileURLToPath(new URL("../", import.meta.url));

const serviceSchema = z.looseObject({
  image: z.string(),
  user: z.string().optional(),
  volumes: z.array(z.string()).optional(),
});
const composeSchema = z.looseObject({ services: z.record(z.string(), serviceSchema) });

/** Waits until a try succeeds. The last error is thrown if none does in time. */
async function eventually<T>(what: string, attempt: () => Promise<T>): Promise<T> {
  const deadlineMs = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await attempt();
    } catch (thrown) {
      if (performance.now() > deadlineMs) {
        throw new Error(`Not in ${PATIENCE_MS} ms: ${what}`, { cause: thrown });
      }
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

const startedAtMs = performance.now();

function report(text: string): void {
  console.log(`${((performance.now() - startedAtMs) / 1_000).toFixed(1).padStart(6)} s  ${text}`);
}

/** Mounts and settings that podman needs here, in the namespaces of this process. */
async function prepare(folder: string): Promise<void> {
  await runProgram("ip", "link", "set", "lo", "up");
  // A hierarchy of version 1 may hold the controllers: without them no limit can be set.
  await runProgram("umount", "-R", "/sys/fs/cgroup").catch(() => {});
  await runProgram("mount", "-t", "cgroup2", "none", "/sys/fs/cgroup");
  // Podman's locks are in /dev/shm: those of runs that were killed would stay, until none is free.
  for (const path of ["/run", "/var/lib/cni", "/etc/containers", "/dev/shm"]) {
    await Deno.mkdir(path, { recursive: true });
    await runProgram("mount", "-t", "tmpfs", "tmpfs", path);
  }
  const hasLimits = (await Deno.readTextFile("/sys/fs/cgroup/cgroup.controllers"))
    .split(/\s/).includes("memory");
  await Deno.writeTextFile(
    "/etc/containers/policy.json",
    '{"default":[{"type":"insecureAcceptAnything"}]}',
  );
  await Deno.writeTextFile(
    "/etc/containers/registries.conf",
    "unqualified-search-registries = []\n",
  );
  await Deno.writeTextFile(
    "/etc/containers/containers.conf",
    `[containers]
cgroups = "${hasLimits ? "enabled" : "disabled"}"
default_ulimits = ["nofile=20000:20000", "nproc=20000:20000"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_backend = "netavark"
network_config_dir = "${folder}/networks"
`,
  );
  await Deno.writeTextFile(
    "/etc/containers/storage.conf",
    `[storage]\ndriver = "overlay"\ngraphroot = "${folder}/store"\nrunroot = "/run/containers"\n`,
  );
}

/** In place of every image that compose.yaml and the Dockerfile would pull. */
const BASE = "localhost/base:1";
const APP = "localhost/rangemaker:0.1.0";

/** What the images of these services say, and the base image does not. */
const STAND_INS: Record<string, object> = {
  postgres: { image: BASE, entrypoint: ["/postgres"], stop_signal: "SIGINT" },
  prometheus: { image: BASE, entrypoint: ["/usr/bin/prometheus"], user: "nobody" },
};

/** Where their programs are on this machine. */
const SYSTEM = ["/usr", "/bin", "/lib", "/lib64"].map((path) => `${path}:${path}:ro`);

/** Builds the base image and, with the steps of the Dockerfile, the image. */
async function build(folder: string): Promise<void> {
  await runProgram("bash", `${root}.ci/base_image.sh`, folder, Deno.execPath(), BASE);
  report("base image made");
  const dockerfile = (await Deno.readTextFile(`${root}Dockerfile`))
    .replaceAll(/^FROM \S+/gm, `FROM ${BASE}`);
  await Deno.writeTextFile(`${folder}/Dockerfile`, dockerfile);
  // The packages are in Deno's cache already, so that the build needs no network.
  const { denoDir } = z.object({ denoDir: z.string() })
    .parse(JSON.parse(await runProgram(Deno.execPath(), "info", "--json")));
  await runProgram(
    "podman",
    ...["build", "--isolation", "chroot", "--format", "docker", "--quiet", "--tag", APP],
    ...["--volume", `${denoDir}:/deno-dir`, "--file", `${folder}/Dockerfile`, root],
  );
  report("image built");
}

/** compose.yaml with the images that were made, and without what this podman-compose does not know. */
async function writeCompose(folder: string) {
  const text = await Deno.readTextFile(`${root}compose.yaml`);
  const compose = composeSchema.parse(parse(text, { merge: true }));
  delete compose.services.grafana;
  for (const shared of ["x-confined", "x-service"]) delete compose[shared];
  for (const [name, service] of Object.entries(compose.services)) {
    Object.assign(service, STAND_INS[name] ?? { image: APP });
    delete service.build;
    delete service.logging;
    delete service.depends_on; // without its conditions it means little; services wait by themselves
    service.volumes = [
      ...(service.volumes ?? []).map((volume) => volume.replace(/^\.\//, root)),
      ...(name in STAND_INS ? SYSTEM : []),
    ];
  }
  const path = `${folder}/compose.yaml`;
  await Deno.writeTextFile(path, stringify(compose));
  return { path, services: compose.services };
}

const inspectSchema = z.array(z.object({
  State: z.object({ Pid: z.number(), Running: z.boolean() }),
  HostConfig: z.object({ Memory: z.number(), ReadonlyRootfs: z.boolean() }),
}));

async function inspect(name: string) {
  const [found] = inspectSchema.parse(
    JSON.parse(await runProgram("podman", "inspect", container(name))),
  );
  return found ?? assert.fail(name);
}

function container(name: string): string {
  return `rangemaker_${name}_1`;
}

/** Waits until a container runs and its health check succeeds. @returns Its process. */
function healthy(name: string): Promise<number> {
  return eventually(`${name} is healthy`, async () => {
    const { State } = await inspect(name);
    assert(State.Running);
    if (name !== "prometheus") await runProgram("podman", "healthcheck", "run", container(name));
    return State.Pid;
  });
}

/** The field of a process's status, such as the user that it runs as. */
async function statusOf(pid: number, field: string): Promise<string | undefined> {
  const text = await Deno.readTextFile(`/proc/${pid}/status`);
  return new RegExp(`^${field}:\\s*(\\S+)`, "m").exec(text)?.[1];
}

/** The `mem_limit` of every service. podman-compose 1.0.3 ignores its `pids_limit`. */
const MEMORY_BYTES = 2 ** 30;

const USERS: Record<string, string> = { postgres: "70", prometheus: "65534" };

async function checkConfinement(name: string, pid: number): Promise<void> {
  const { HostConfig } = await inspect(name);
  assert.equal(await statusOf(pid, "Uid"), USERS[name] ?? "65532", name);
  assert.equal(await statusOf(pid, "CapEff"), "0000000000000000", name);
  assert.equal(await statusOf(pid, "NoNewPrivs"), "1", name);
  assert.equal(HostConfig.Memory, MEMORY_BYTES, name);
  assert(HostConfig.ReadonlyRootfs, name);
  // As root, whom only a read-only file system keeps from writing.
  await assert.rejects(Deno.writeTextFile(`/proc/${pid}/root/etc/new`, ""), /os error 30/, name);
}

const targetsSchema = z.object({
  data: z.object({ activeTargets: z.array(z.object({ health: z.string() })) }),
});

/** Waits until Prometheus has scraped every target. @returns Their number. */
function targetsUp(): Promise<number> {
  return eventually("every target of Prometheus is up", async () => {
    const answer = await fetch("http://127.0.0.1:9090/api/v1/targets");
    const { data: { activeTargets } } = targetsSchema.parse(await answer.json());
    assert(activeTargets.length > 0);
    for (const target of activeTargets) assert.equal(target.health, "up", JSON.stringify(target));
    return activeTargets.length;
  });
}

const URLS = {
  oracle: "http://127.0.0.1:8550",
  node: "http://127.0.0.1:8545",
  nodeRead: "http://127.0.0.1:8547",
  proxy: "http://127.0.0.1:8546",
  proxyWs: "ws://127.0.0.1:8546/ws",
  bridge: "http://127.0.0.1:3001",
  solver: "http://127.0.0.1:3000",
};

/** Services with a volume, and one that compares what it finds in both. */
const KEEPERS = ["postgres", "node", "bridge"];

async function fresh(): Promise<void> {
  await eventually("prices are fresh, from every exchange", async () => {
    const { oracle } = await (await fetch(`${URLS.node}/health`)).json();
    assert.equal(oracle, "fresh");
    const { providers } = await (await fetch(`${URLS.oracle}/providers`)).json();
    for (const { ready } of providers) assert(ready);
  });
}

/** Everything that is tried, inside the namespaces. */
async function tryCompose(folder: string): Promise<void> {
  await prepare(folder);
  await build(folder);
  const { path, services } = await writeCompose(folder);
  const names = Object.keys(services);
  const compose = (...args: string[]) =>
    runProgram("podman-compose", "--project-name", "rangemaker", "--file", path, ...args);

  /** Starts services after their database, as `depends_on` would. */
  const up = async (...names: string[]) => {
    await compose("up", "--detach", "--no-build", "postgres");
    await healthy("postgres");
    await compose("up", "--detach", "--no-build", ...names);
  };

  await up(...names);
  const pids = new Map<string, number>();
  for (const name of names) pids.set(name, await healthy(name));
  report(`${names.length} containers healthy`);
  for (const [name, pid] of pids) await checkConfinement(name, pid);
  report("users, capabilities, memory limits and read-only file systems checked");

  await fresh();
  const { thesis } = await playBet(URLS, systemClock, () => {});
  report(`bet ${thesis.status}, paid ${thesis.payout}`);
  report(`${await targetsUp()} targets of Prometheus up`);

  const killed = KEEPERS.map((name) => pids.get(name) ?? assert.fail(name));
  for (const pid of killed) Deno.kill(pid, "SIGKILL");
  for (const [index, name] of KEEPERS.entries()) {
    await eventually(`${name} was started again`, async () => {
      assert.notEqual((await inspect(name)).State.Pid, killed[index]);
    });
    await healthy(name);
  }
  report(`${KEEPERS.join(", ")} were killed, started again and are healthy`);

  const balances = async () => {
    const client = new CoreClient({ url: URLS.node });
    const accounts = [thesis.user, DEV_ACCOUNTS.solver.address];
    return await Promise.all(accounts.map((address) => client.getAccount(address)));
  };
  const before = await balances();
  await compose("down");
  assert.equal(await runProgram("podman", "ps", "--all", "--quiet"), "");
  await up(...KEEPERS);
  for (const name of KEEPERS) await healthy(name);
  assert.deepEqual(await balances(), before);
  report("down and up: the same balances");
}

if (import.meta.main) {
  const folder = Deno.env.get(INSIDE);
  if (folder !== undefined) {
    await tryCompose(folder);
    Deno.exit(0); // connections may be open
  } else {
    const scratch = await Deno.makeTempDir({ prefix: "containers-" });
    try {
      // The shell is process 1 of the namespace: at its end the kernel ends all others.
      const { code } = await new Deno.Command("unshare", {
        args: [
          ...["--mount", "--pid", "--net", "--ipc", "--fork", "--mount-proc", "--kill-child"],
          ...["timeout", RUN_MAX, Deno.execPath(), "run", "--allow-all", "--cached-only"],
          ...["--config", `${root}deno.json`, import.meta.filename ?? ""],
        ],
        env: { [INSIDE]: scratch },
        stdin: "null",
      }).spawn().status;
      Deno.exitCode = code;
    } finally {
      await Deno.remove(scratch, { recursive: true });
    }
  }
}
