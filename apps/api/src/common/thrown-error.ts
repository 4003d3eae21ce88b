import { HttpException } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { unavailable } from '#contract/unavailable.js';
import { isDatabaseUnavailable } from '#database/database-errors.js';
import type { Logger } from '#telemetry/logger.js';
import { appErrorOf } from './framework-error.js';

/** The error that callers see of whatever a request's handler has thrown. */
export function errorOfThrown(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown;
  const cause = thrown instanceof HttpException && thrown.cause instanceof Error ? thrown.cause : thrown;
  if (isDatabaseUnavailable(cause)) {
    return unavailable('The service cannot do this right now. Please try again.', { cause });
  }
  return appErrorOf(cause);
}

/** Logs a request that failed through no fault of its caller. */
export function reportError(error: AppError, request: FastifyRequest, logger: Logger): void {
  const fields = { requestId: request.id, taskId: error.taskId, code: error.code };
  // A limit that works is no fault, and has no cause to trace.
  if (error.code === 'server_is_overloaded' && error.cause === undefined) {
    logger.warn('request.failed', { ...fields, reason: error.message });
    return;
  }
  logger.error('request.failed', { ...fields, error: error.cause instanceof Error ? error.cause : error });
}
