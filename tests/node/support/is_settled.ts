/** Whether a promise is settled after everything that can happen now has happened. */
export async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  const note = () => settled = true;
  promise.then(note, note);
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  return settled;
}
