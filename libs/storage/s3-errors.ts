import { S3ServiceException } from '@aws-sdk/client-s3';
import { ObjectNotFound, StorageError, StorageForbidden } from './object-store.js';

/** What every store says of a key without an object. */
export const NOT_FOUND = 'object store: no such object';
/** The names that stores give to a refusal for want of a right; a wrong secret has others. */
const FORBIDDEN = new Set(['AccessDenied', 'Forbidden']);
/** What a key must be allowed, in S3's words. */
const RIGHTS = {
  writing: 's3:PutObject',
  reading: 's3:GetObject',
  deleting: 's3:DeleteObject',
  listing: 's3:ListBucket',
};

/** What the store was asked to do. */
export type Doing = keyof typeof RIGHTS;

/** Whether the store answered that a right is missing. */
export function isForbidden(error: unknown): boolean {
  return error instanceof S3ServiceException && FORBIDDEN.has(error.name) && error.$metadata.httpStatusCode === 403;
}

/** The message contains the operation and the store's error name, but no key, address, or header. */
export function asStorageError(doing: Doing, error: unknown): StorageError {
  if (error instanceof StorageError) return error;
  const status = error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
  const name = error instanceof Error ? error.name : 'unknown';
  if (name === 'NoSuchKey' || name === 'NotFound') return new ObjectNotFound(NOT_FOUND, { cause: error });
  const message = `object store: ${doing} failed (${name}${status === undefined ? '' : `, HTTP ${status}`})`;
  if (!isForbidden(error)) return new StorageError(message, { cause: error });
  return new StorageForbidden(`${message}; the access key needs ${RIGHTS[doing]}`, RIGHTS[doing], { cause: error });
}
