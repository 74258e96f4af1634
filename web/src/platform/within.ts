// A wait with an end.

/** The outcome of `promise`, or of `late()` when there is none after `waitMs`. */
export function within<T>(promise: Promise<T>, waitMs: number, late: () => T): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const end = new Promise<T>((resolve, reject) => {
    timer = setTimeout(() => {
      try {
        resolve(late());
      } catch (error) {
        reject(error);
      }
    }, waitMs);
  });
  return Promise.race([promise, end]).finally(() => clearTimeout(timer));
}
