/** A chain in a directory that accepts deposits, and prints when each is committed. */
import { FakeClock } from "../../support/fake_clock.ts";
import { DiskChain } from "./chains.ts";

const [path, deposits] = Deno.args as [string, string]; // as the test gives them
const disk = new DiskChain(path, new FakeClock());
for (let number = 1; number <= Number(deposits); number++) {
  disk.deposit(number);
  if (number % 3 === 0) disk.run(4);
  disk.storage.records.commits.commit();
  Deno.stdout.writeSync(new TextEncoder().encode(`committed ${number}\n`));
}
Deno.exit(0);
