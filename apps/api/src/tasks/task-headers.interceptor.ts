import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { tap, type Observable } from 'rxjs';
import type { ImageTaskView } from '#contract/image-task-view.js';
import type { TaskResponse } from '#contract/task-view.js';

/** Seconds between polls of a running task. */
const POLL_SECONDS = '3';

type Shown = TaskResponse | ImageTaskView;

/** Adds the task id to headers and the log, and the delay before the next poll. */
@Injectable()
export class TaskHeadersInterceptor implements NestInterceptor<Shown> {
  intercept(context: ExecutionContext, next: CallHandler<Shown>): Observable<Shown> {
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    return next.handle().pipe(
      tap((shown) => {
        const { id, status } = 'data' in shown ? shown.data : shown;
        reply.request.taskId = id;
        if (status === 'pending' || status === 'processing') void reply.header('retry-after', POLL_SECONDS);
        void reply.header('cache-control', 'no-store').header('x-task-id', id);
      }),
    );
  }
}
