/** Runs of the program that are killed at a fault point and started again. */
import { type Answer, post } from "./http_answers.ts";
import { type Launch, Program } from "./process.ts";

/** Start of the line on standard error for each fault point passed; the point follows. */
const FAULT_POINT_LINE = "Fault point ";

/** A service of the program under such a test. */
export interface ServiceProcess {
  /** Arguments of every start. */
  args: readonly string[];
  env: Record<string, string>;
  /** From its sources by default. */
  launch?: Launch;
}

/** A started program and its address. */
export interface Started {
  program: Program;
  url: string;
}

/** Starts a service and waits until it listens. */
export async function startServiceProcess(service: ServiceProcess): Promise<Started> {
  const program = new Program(service.args, service.env, service.launch);
  return { program, url: await program.url() };
}

export async function kill({ program }: { program: Program }): Promise<void> {
  program.kill("SIGKILL");
  await program.finished();
}

/** Most times that one request is sent. */
const SENT_MAX = 20;

/**
 * Posts JSON until the service records it. On a busy machine the node's answer may come after the
 * service's timeout: then nothing is recorded, and no later fault point is passed.
 */
export async function postUntilRecorded(url: string, body: unknown): Promise<Answer> {
  for (let sent = 1;; sent += 1) {
    const answer = await post(url, body);
    if (answer.body.code !== "NODE_TIMEOUT" || sent === SENT_MAX) return answer;
  }
}

/**
 * Plays a scenario once, to its end.
 *
 * @returns The fault points in the order in which they were first reached.
 */
export async function traceFaultPoints(
  service: ServiceProcess,
  play: (url: string) => Promise<unknown>,
): Promise<string[]> {
  const started = await startServiceProcess(service);
  await play(started.url);
  await kill(started);
  const lines = started.program.stderr.split("\n").filter((line) =>
    line.startsWith(FAULT_POINT_LINE)
  );
  return [...new Set(lines.map((line) => line.slice(FAULT_POINT_LINE.length)))];
}

/**
 * Plays a scenario until the program pauses at a fault point, and kills it there.
 *
 * @returns The scenario's result, or undefined if it got no answer before.
 */
export async function playUntilKilled<T>(
  service: ServiceProcess,
  point: string,
  play: (url: string) => Promise<T>,
): Promise<T | undefined> {
  const env = { ...service.env, FAULT_POINT: point };
  const program = new Program(service.args, env, service.launch);
  const frozen = (one: Program) => one.stderr.includes(`${FAULT_POINT_LINE}${point}\n`);
  let played: Promise<T | undefined> | undefined;
  try {
    let listening = true;
    await Promise.race([program.url(), program.until(frozen).then(() => listening = false)]);
    // A point reached at start may stop the program before or just after it prints its address.
    if (listening) played = play(await program.url()).catch(() => undefined);
    await program.until(frozen);
  } catch (thrown) {
    await kill({ program }).catch(() => {}); // it may have ended
    throw thrown;
  }
  // An answer on its way still arrives; without one the connection ends with the process.
  await kill({ program });
  return await played;
}
