/** What an error code of a refused call means, and what to do about it. */
interface RefusalWords {
  readonly what: string;
  readonly help: string;
}

const WORDS: Readonly<Record<string, RefusalWords>> = {
  rate_limit_exceeded: {
    what: 'Too many requests per minute',
    help: 'Send fewer requests, or raise the limit of the key or the account.',
  },
  concurrency_limit_exceeded: {
    what: 'Too many tasks at a time',
    help: 'Wait for tasks to finish, or raise the concurrent tasks of the key or the account.',
  },
  insufficient_quota: {
    what: 'The budget is used up',
    help: 'Raise the budget of the key or the account, or wait for its next month.',
  },
  invalid_api_key: {
    what: 'The key is unknown, revoked, or expired',
    help: 'Give the app a key that works.',
  },
  account_disabled: { what: 'The account is disabled', help: 'Ask an operator to enable it.' },
  end_user_blocked: {
    what: 'The end user is blocked',
    help: 'An owner or admin can unblock them on the page End users.',
  },
  end_user_paused: {
    what: 'The end user is paused',
    help: 'The pause ends by itself, or on the page End users.',
  },
  model_not_allowed: {
    what: 'The key may not use this model',
    help: 'Add the model to the key, or request another one.',
  },
  endpoint_not_allowed: {
    what: 'The key has no permission for this',
    help: 'Change the permissions of the key, or use another one.',
  },
  model_not_found: { what: 'The model does not exist', help: 'Check its name; GET /v1/models lists all of them.' },
  queue_full: { what: 'The queue is full', help: 'Try again later, or ask an operator to add workers.' },
  server_is_overloaded: { what: 'The service was overloaded', help: 'Try again later, or ask an operator.' },
  upload_quota_exceeded: {
    what: 'The storage for uploads is full',
    help: 'Delete uploads, or wait until they expire.',
  },
  task_deleted: { what: 'The task was deleted', help: 'Order the image again.' },
  task_not_found: { what: 'The task does not exist, or is not visible to the key', help: 'Check the ID.' },
};

/** The meaning of an error code, and the next step. */
export function refusalWords(code: string, status: number): RefusalWords {
  const words = code.replaceAll('_', ' ');
  return (
    WORDS[code] ?? {
      what: words.charAt(0).toUpperCase() + words.slice(1),
      help: status < 500 ? 'The response says which part of the request is wrong.' : 'Try again later.',
    }
  );
}
