/**
 * Writes the databases of this folder with the program of another checkout, as bridge and solver of
 * that version leave them: two finished intents, one that the node refused, one that it has not answered.
 *
 * deno run --allow-all --config <checkout>/deno.json tests/lib/intents/released/make.ts <checkout>
 */
import { DatabaseSync } from "node:sqlite";

const [checkout = ""] = Deno.args;
const tests = `${checkout}/tests`;
const { ConnectionLost, FakeNode } = await import(`${tests}/support/fake_node.ts`);
const { post } = await import(`${tests}/support/envelope.ts`);
const bridge = await import(`${tests}/bridge/support.ts`);
const solver = await import(`${tests}/solver/support.ts`);

/** In 2100: what is pending can still be submitted. */
const DEADLINE = 4_102_444_800_000;

/** The statements that make a database: `sqlite3 .dump` with the version of the tables. */
function dumpOf(path: string): string {
  const db = new DatabaseSync(path);
  const all = (sql: string) => db.prepare(sql).all() as Record<string, string | number | null>[];
  const [{ user_version: version } = {}] = all("PRAGMA user_version");
  const schema = all("SELECT name, type, sql FROM sqlite_schema WHERE sql IS NOT NULL")
    .filter(({ name }) => !String(name).startsWith("sqlite_"));
  const literal = (value: unknown) =>
    typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value);
  const rows = schema.filter(({ type }) => type === "table").flatMap(({ name }) =>
    all(`SELECT * FROM ${name}`).map((row) =>
      `INSERT INTO ${name} VALUES (${Object.values(row).map(literal).join(", ")});`
    )
  );
  db.close();
  const lines = [
    ...schema.map(({ sql }) => `${sql};`),
    ...rows,
    `PRAGMA user_version = ${version};`,
  ];
  return `${lines.join("\n")}\n`;
}

async function make(
  name: string,
  start: (
    node: typeof FakeNode,
    database: string,
  ) => Promise<{ url: string; stop(): Promise<void> }>,
  submit: (url: string, number: number) => Promise<unknown>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  const node = FakeNode.start();
  for (const { address } of [bridge.user, solver.solver]) node.credited.set(address, 10n ** 12n);
  node.methods.set("core_getTheses", () => ({ theses: [], nextCursor: null }));
  const service = await start(node, `${folder}/${name}.sqlite`);
  await submit(service.url, 1);
  await submit(service.url, 2);
  node.refusal = "PERMISSION_DENIED";
  await submit(service.url, 3);
  node.refusal = undefined;
  node.behaviour = () => {
    throw new ConnectionLost("The node is away");
  };
  await submit(service.url, 4);
  await service.stop();
  await node.stop();
  const path = new URL(`${name}.sql`, import.meta.url);
  await Deno.writeTextFile(path, dumpOf(`${folder}/${name}.sqlite`));
}

await make(
  "bridge",
  (node, database) => bridge.startTestBridge(node.url, { database }),
  (url, number) =>
    post(`${url}/deposit`, bridge.signedRequest({ nonce: BigInt(number), deadline: DEADLINE })),
);
await make(
  "solver",
  (node, database) => solver.startTestSolver(node, { database }),
  async (url, number) => {
    const terms = { betAmount: `${number}0000000`, deadline: DEADLINE };
    return await post(`${url}/execute`, await solver.execution(url, terms));
  },
);
