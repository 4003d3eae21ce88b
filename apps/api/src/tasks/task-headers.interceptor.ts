import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { tap, type Observable } from 'rxjs';
import type { TaskResponse } from '#contract/task-view.js';

/** Seconds between polls of a running task. */
const POLL_SECONDS = '3';

/** Adds the task id to headers and the log, and the delay before the next poll. */
@Injectable()
export class TaskHeadersInterceptor implements NestInterceptor<TaskResponse> {
  intercept(context: ExecutionContext, next: CallHandler<TaskResponse>): Observable<TaskResponse> {
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    return next.handle().pipe(
      tap(({ data: { id, status } }) => {
        reply.request.taskId = id;
        if (status === 'pending') void reply.header('retry-after', POLL_SECONDS);
        void reply.header('cache-control', 'no-store').header('x-task-id', id);
      }),
    );
  }
}
