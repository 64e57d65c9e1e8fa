/**
 * The Dockerfile is linted, and its steps are executed by hand in a bare directory, since no
 * container engine runs here: files are copied, commands run. Then its entry point is started there
 * by a user who may write only to `data`.
 */
import assert from "node:assert/strict";
import { dirname } from "node:path";
import { type Copy, DockerfileParser, type From, type JSONInstruction } from "dockerfile-ast";
import { validate } from "dockerfile-utils";
import { Program } from "../support/process.ts";
import { DEV_ACCOUNTS } from "../../lib/protocol/dev_accounts.ts";
import { OPTION_TABLES } from "../house/option_tables.ts";
import { checkHealth, fileUrl, readText, run } from "./support.ts";

const text = readText("Dockerfile");
const instructions = DockerfileParser.parse(text).getInstructions();
const stages = instructions.filter((each): each is From => each.getKeyword() === "FROM");
const user = 65532;

/** The words of an instruction in the JSON form, such as `RUN ["a", "b"]`. */
function words(keyword: string): string[][] {
  return instructions.filter((each) => each.getKeyword() === keyword).map((each) => {
    // These keywords are parsed as instructions that may be written as JSON.
    const strings = (each as JSONInstruction).getJSONStrings();
    assert(strings.length > 0, `${keyword} is not in the JSON form`);
    return strings.map((string) => string.getJSONValue());
  });
}

Deno.test("Dockerfile: the linter reports nothing", () => {
  assert.deepEqual(
    validate(text).map(({ message, range }) => `${range.start.line}: ${message}`),
    [],
  );
});

Deno.test("Dockerfile: every image is pinned by its digest, the last has a user other than root", () => {
  for (const stage of stages) {
    assert.match(stage.getImageDigest() ?? "", /^sha256:[\da-f]{64}$/, stage.getImage() ?? "");
    assert.notEqual(stage.getImageTag(), null);
  }
  const users = instructions.filter((each) => each.getKeyword() === "USER");
  assert.deepEqual(users.map((each) => each.getArgumentsContent()), [`${user}:${user}`]);
});

Deno.test(".dockerignore: includes exactly the files that the Dockerfile copies", () => {
  const allowed = readText(".dockerignore").split("\n").filter((line) => line.startsWith("!"))
    .map((line) => line.slice(1));
  assert.deepEqual(allowed.toSorted(), copies().flatMap(({ sources }) => sources).toSorted());
  assert(readText(".dockerignore").split("\n").includes("*"));
});

/** What is copied from the repository, in the first stage. */
function copies(): { sources: string[]; target: string }[] {
  return instructions.filter((each): each is Copy => each.getKeyword() === "COPY")
    .filter((copy) => !copy.getFlags().some((flag) => flag.getName() === "from"))
    .map((copy) => {
      const places = copy.getArguments().map((argument) => argument.getValue());
      return { sources: places.slice(0, -1), target: places.at(-1) ?? "" };
    });
}

async function copy(source: string, target: string): Promise<void> {
  const { code, text } = await run("cp", ["-r", source, target]);
  assert.equal(code, 0, text);
}

/** Runs the steps in a directory that replaces `/`. @returns The entry point, with that path. */
async function buildBelow(root: string): Promise<string[]> {
  const place = (word: string) => word.replace(/(^|=)\//, `$1${root}/`);
  await Deno.mkdir(`${root}/build`);
  for (const { sources, target } of copies()) {
    for (const source of sources) {
      const name = target === "./" ? source.split("/").at(-1) : target;
      await Deno.mkdir(dirname(`${root}/build/${name}`), { recursive: true });
      await copy(fileUrl(source).pathname, `${root}/build/${name}`);
    }
  }
  for (const [program = "", ...args] of words("RUN")) {
    const path = program === "deno" ? Deno.execPath() : program;
    const { code, text } = await run(path, args.map(place), { cwd: `${root}/build` });
    assert.equal(code, 0, text);
  }
  await Deno.rename(`${root}/data`, `${root}/app/data`);
  await Deno.remove(`${root}/build`, { recursive: true });
  // Where the base image has it; the one that runs this test may be out of that user's reach.
  await Deno.mkdir(`${root}/usr/bin`, { recursive: true });
  await Deno.copyFile(Deno.execPath(), `${root}/usr/bin/deno`);
  await run("chmod", ["-R", "a-w,a+rX", root]);
  await run("chmod", ["u+w", `${root}/app/data`]);
  if (Deno.uid() === 0) await Deno.chown(`${root}/app/data`, user, user);
  const [[, ...entry] = []] = words("ENTRYPOINT");
  return [`${root}/usr/bin/deno`, ...entry.map(place)];
}

async function withImage(test: (root: string, entry: string[]) => Promise<void>): Promise<void> {
  const root = await Deno.makeTempDir();
  try {
    await test(root, await buildBelow(root));
  } finally {
    await run("chmod", ["-R", "u+w", root]);
    await Deno.remove(root, { recursive: true });
  }
}

async function filesBelow(root: string): Promise<string> {
  return (await run("find", [root, "-not", "-path", `${root}/app/data/*`])).text;
}

const slow = { timeout: 180_000 };

Deno.test("Dockerfile: its files run, and write only to data", slow, async () => {
  await withImage(async (root, [command = "", ...args]) => {
    const before = await filesBelow(root);
    const launch = {
      command,
      args,
      cwd: `${root}/app`,
      ...(Deno.uid() === 0 ? { uid: user, gid: user } : {}),
    };
    // In a container there is no home to keep a cache in.
    const home = { HOME: "/nonexistent", DENO_DIR: "/nonexistent" };
    const bridge = new Program(["bridge", "--port", "0"], {
      ...home,
      BRIDGE_PRIVATE_KEY: DEV_ACCOUNTS.relayer.privateKey,
      KAIZEN_RPC_URL: "http://127.0.0.1:1",
      RANGEMAKER_HOST: "0.0.0.0",
    }, launch);
    await bridge.until(({ stderr }) => stderr.includes("Listening on"));
    const [, port = ""] = /Listening on http:\/\/[^:]+:(\d+)/.exec(bridge.stderr) ?? [];
    const health = await checkHealth(
      `http://127.0.0.1:${port}/health`,
      `${root}/app/health_check.js`,
    );
    assert.equal(health.code, 1, "a bridge without its node is not well");
    assert.match(health.text, /"rpc":false/);
    bridge.kill("SIGTERM");
    const { code, stderr } = await bridge.finished();
    assert.equal(code, 0, stderr);
    assert((await Deno.stat(`${root}/app/data/bridge.sqlite`)).isFile);
    const page = new Program(
      ["console", "--port", "0"],
      { ...home, RANGEMAKER_HOST: "0.0.0.0" },
      launch,
    );
    await page.until(({ stderr }) => stderr.includes("Listening on"));
    const [, pagePort = ""] = /Listening on http:\/\/[^:]+:(\d+)/.exec(page.stderr) ?? [];
    const pageUrl = `http://127.0.0.1:${pagePort}/`;
    const html = await (await fetch(pageUrl)).text();
    const files = [...html.matchAll(/(?:src|href)="([^"]+\.(?:js|css))"/g)].map(([, name]) => name);
    for (const ending of ["js", "css"]) {
      assert(files.some((file) => file?.endsWith(ending)), `no ${ending} in ${html}`);
    }
    for (const file of files) {
      const answer = await fetch(new URL(file ?? "", pageUrl));
      assert.equal(answer.status, 200, file);
      assert((await answer.text()).length > 0, file);
    }
    page.kill("SIGTERM");
    assert.equal((await page.finished()).code, 0);
    const demo = await new Program(["demo"], home, launch).finished();
    assert.equal(demo.code, 0, demo.stderr);
    assert.equal(await filesBelow(root), before, "something was written outside data");
  });
});

const answers: readonly (readonly [string, number, string, number])[] = [
  ["the proxy's OK", 200, "OK", 0],
  ["the solver's ok", 200, '{"status":"ok"}', 0],
  ["the oracle's healthy", 200, '{"status":"healthy"}', 0],
  ["a bridge that reaches its node", 200, '{"status":"healthy","rpc":true}', 0],
  ["a bridge without its node", 200, '{"status":"healthy","rpc":false}', 1],
  ["an oracle without some pair", 200, '{"status":"degraded"}', 1],
  ["another program's page", 200, "<html>OK</html>", 1],
  ["an error", 503, "OK", 1],
];

for (const [what, status, body, expected] of answers) {
  Deno.test(`Dockerfile, HEALTHCHECK: ${what} is ${expected === 0 ? "healthy" : "unhealthy"}`, async () => {
    const server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      () => new Response(body, { status }),
    );
    const { port } = server.addr;
    const { code } = await checkHealth(`http://127.0.0.1:${port}/health`);
    assert.equal(code, expected);
    await server.shutdown();
  });
}

Deno.test("Dockerfile, HEALTHCHECK: without HEALTH_URL it checks the one running service", async () => {
  const script = readText("docs/deployment/health_check.ts");
  const defaults = Object.entries(OPTION_TABLES).filter(([name]) => name !== "backfill")
    .map(([, { port }]) => Number(port?.default ?? port?.shownDefault));
  const [list = ""] = /(?<=const PORTS = )\[.*\]/.exec(script) ?? [];
  assert.deepEqual(new Set(JSON.parse(list)), new Set(defaults));

  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response("OK"),
  );
  const folder = await Deno.makeTempDir();
  const moved = `${folder}/health_check.ts`;
  await Deno.writeTextFile(moved, script.replace(list, `[1, ${server.addr.port}]`));
  const { code, text } = await checkHealth(undefined, moved);
  assert.equal(code, 0, text);
  await server.shutdown();
  await Deno.remove(folder, { recursive: true });
});
