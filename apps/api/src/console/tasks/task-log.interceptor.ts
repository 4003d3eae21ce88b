import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { tap, type Observable } from 'rxjs';
import type { AcceptedTaskView, ConsoleTaskView } from './dto/task-views.dto.js';

type Answer = AcceptedTaskView | ConsoleTaskView;

/** Adds the response's task id to the request log. */
@Injectable()
export class TaskLogInterceptor implements NestInterceptor<Answer> {
  intercept(context: ExecutionContext, next: CallHandler<Answer>): Observable<Answer> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    return next.handle().pipe(
      tap((answer) => {
        request.taskId = 'task_id' in answer ? answer.task_id : answer.id;
      }),
    );
  }
}
