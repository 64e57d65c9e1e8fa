import { parse } from "yaml";
import { z } from "zod";
import { FREE_PORTS, type RunningStack, startStack } from "../../services/stack/stack.ts";

export { hasProgram } from "../support/process.ts";

const root = new URL("../../", import.meta.url);

/** A file of the project, by its path from the top. */
export function fileUrl(path: string): URL {
  return new URL(path, root);
}

/** The text of a file of the project. */
export function readText(path: string): string {
  return Deno.readTextFileSync(fileUrl(path));
}

/** A YAML file of the project, as the tools read it: with anchors merged. */
export function readYaml(path: string): unknown {
  return parse(readText(path), { merge: true });
}

/** Runs a program to its end. */
export async function run(
  name: string,
  args: string[],
  options: Deno.CommandOptions = {},
): Promise<{ code: number; text: string }> {
  const { code, stdout, stderr } = await new Deno.Command(name, {
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    ...options,
    args,
  }).output();
  const decoder = new TextDecoder();
  return { code, text: decoder.decode(stdout) + decoder.decode(stderr) };
}

/** Ports that were free a moment ago, for programs that do not say which they take for 0. */
export function freePorts(count: number): number[] {
  const listeners = Array.from(
    { length: count },
    () => Deno.listen({ hostname: "127.0.0.1", port: 0 }),
  );
  return listeners.map((listener) => {
    listener.close();
    return (listener.addr as Deno.NetAddr).port; // as for every TCP listener
  });
}

/** Runs the health check of the Dockerfile. */
export async function checkHealth(url: string): Promise<{ code: number; text: string }> {
  const [, command = ""] = /^HEALTHCHECK .*? CMD (\[.*\])$/m.exec(readText("Dockerfile")) ?? [];
  const [, ...args] = z.array(z.string()).parse(JSON.parse(command));
  return await run(Deno.execPath(), args, { env: { HEALTH_URL: url } });
}

/** Runs a test on a stack of its own. */
export async function withStack(test: (stack: RunningStack) => Promise<void>): Promise<void> {
  const stack = await startStack({ ports: FREE_PORTS, seed: 1 });
  try {
    await test(stack);
  } finally {
    await stack.stop();
  }
}
