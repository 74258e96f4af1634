// What the service says over HTTP: requests taken apart and checked, errors as statuses.
//
// Bytes from outside are hostile: a body has a limit, a value is checked before anybody uses it,
// and what is wrong with it is named in the answer.
import { VicinalError } from 'vicinal';

/** A body that goes on for more than this many times its limit is cut off, not answered. */
const kPatience = 16;

const kStatuses = {
  BAD_REQUEST: 400, DIMENSION: 400, NOT_FINITE: 400, BAD_ID: 400, BAD_OPTION: 400,
  NOT_FOUND: 404, UNKNOWN_ID: 404, METHOD: 405, DUPLICATE_ID: 409, TOO_LARGE: 413, TYPE: 415,
  READ_ONLY: 403, UNSUPPORTED: 501, FULL: 507,
  // What may be gone when the client tries again.
  BUSY: 503, WOULD_BLOCK: 503, ABORTED: 503, CLOSED: 503, IO: 503,
};

/** An error with a code of the table above. Those of the package have theirs already. */
export class RequestError extends Error {
  constructor(code, message, headers = {}) {
    super(message);
    this.code = code;
    this.headers = headers;
  }
}

const bad = (message) => new RequestError('BAD_REQUEST', message);

/** An error that came from another thread, where its class was lost. */
export function errorFrom({ code, message }) {
  return kStatuses[code] === undefined ? new Error(message) : new RequestError(code, message);
}

/** { status, headers, body } for whatever was thrown. What is not typed is a fault of ours. */
export function answerOf(error) {
  const typed = error instanceof VicinalError || error instanceof RequestError;
  const status = (typed && kStatuses[error.code]) || 500;
  const code = status === 500 ? 'INTERNAL' : error.code;
  const message = status === 500 ? 'the service failed' : error.message;
  const retry = status === 503 ? { 'Retry-After': '1' } : {};
  return { status, headers: { ...retry, ...error?.headers }, body: { error: { code, message } } };
}

/** The whole body. TOO_LARGE, told when the client has sent it all and listens. */
function readBody(request, bytesMax) {
  return new Promise((resolve, reject) => {
    let parts = [];
    let bytes = 0;
    request.on('data', (part) => {
      bytes += part.length;
      if (bytes <= bytesMax) parts.push(part);
      else parts = [];
      if (bytes > kPatience * bytesMax) request.destroy();
    });
    request.on('end', () => {
      if (bytes <= bytesMax) return resolve(Buffer.concat(parts));
      const message = `a body has at most ${bytesMax} bytes, this one has ${bytes}`;
      reject(new RequestError('TOO_LARGE', message));
    });
    request.on('close', () => reject(bad('the body ended early')));
    request.on('error', reject);
  });
}

/** The body as an object. TYPE, TOO_LARGE, BAD_REQUEST. */
export async function readJson(request, bytesMax) {
  // A page of another origin may send forms and plain text here unasked, but not this type.
  if (!/^application\/json\s*(?:;|$)/i.test(request.headers['content-type'] ?? '')) {
    throw new RequestError('TYPE', 'Content-Type: expected application/json');
  }
  const body = await readBody(request, bytesMax);
  let value;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch (error) {
    throw bad(`the body is no JSON: ${error.message}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw bad('the body is no JSON object');
  }
  return value;
}

/** { query, options } of a search. The index checks what lies in them. */
export function searchRequest(body, kMax) {
  const { vector, k = 10, filter, minSequence, minScore, exhaustive } = body;
  if (!Array.isArray(vector)) throw bad('vector: expected an array of numbers');
  if (!(Number.isSafeInteger(k) && k >= 0 && k <= kMax)) {
    throw new RequestError('BAD_OPTION', `k: expected an integer from 0 to ${kMax}`);
  }
  if (filter !== undefined && !Array.isArray(filter)) throw bad('filter: expected an array of ids');
  const options = { k, filter, minSequence, minScore, exhaustive };
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || value === null) delete options[name];
  }
  return { query: vector, options };
}

/** { ids, vectors } of a write: vectors as one Float32Array, which other threads get cheaply. */
export function rowsRequest({ ids, vectors }, dim) {
  if (!Array.isArray(ids)) throw bad('ids: expected an array');
  if (!Array.isArray(vectors) || vectors.length !== ids.length) {
    throw new RequestError('DIMENSION', 'vectors: expected one array for each id');
  }
  const rows = new Float32Array(ids.length * dim);
  vectors.forEach((vector, row) => {
    if (!Array.isArray(vector) || vector.length !== dim) {
      const found = Array.isArray(vector) ? `${vector.length} coordinates` : 'no array';
      throw new RequestError('DIMENSION', `vector ${row}: ${found}, expected ${dim} coordinates`);
    }
    if (!vector.every(Number.isFinite)) {
      throw new RequestError('NOT_FINITE', `vector ${row} has something that is no finite number`);
    }
    rows.set(vector, row * dim);
  });
  return { ids, vectors: rows };
}

/** Ids of a path such as /rows/17 or /rows/17,18. */
export function idsOfPath(pathname) {
  const list = pathname.slice('/rows/'.length).split(',');
  if (!list.every((text) => /^\d{1,16}$/.test(text))) {
    throw new RequestError('BAD_ID', 'the path ends in no list of ids, such as 17 or 17,18');
  }
  return list.map(Number);
}
