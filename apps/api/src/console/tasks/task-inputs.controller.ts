import { Get, Header, Param, StreamableFile } from '@nestjs/common';
import { ApiParam, ApiResponse } from '@nestjs/swagger';
import type { TaskScope } from '#tasks/row/task.js';
import { Allow } from '../abilities.guard.js';
import { ConsoleController } from '../console-controller.js';
import { TaskInputs } from './task-inputs.js';
import { VisibleTasks } from './visible-tasks.js';

const BYTES = { schema: { type: 'string' as const, format: 'binary' } };

/** Path parameters with a task and one of its images. */
class TaskInputParams {
  readonly taskId!: string;
  readonly name!: string;
}

/** The reference images and masks of tasks. */
@ConsoleController('Tasks', 'tasks')
@Allow('tasks.read')
export class TaskInputsController {
  constructor(private readonly inputs: TaskInputs) {}

  @Get(':taskId/inputs/:name')
  @ApiParam({ name: 'taskId', type: String })
  @ApiParam({ name: 'name', type: String, description: 'Index of a reference image, from 0, or `mask`.' })
  @ApiResponse({
    status: 200,
    content: Object.fromEntries(['png', 'jpeg', 'webp', 'gif', 'avif'].map((type) => [`image/${type}`, BYTES])),
  })
  // Opened on its own, the image can run no scripts, and no other site can embed it.
  @Header('content-security-policy', "default-src 'none'; sandbox")
  @Header('cross-origin-resource-policy', 'same-origin')
  async show(@VisibleTasks() scope: TaskScope, @Param() { taskId, name }: TaskInputParams): Promise<StreamableFile> {
    const { stream, bytes, contentType } = await this.inputs.open(scope, taskId, name);
    return new StreamableFile(stream, { type: contentType, length: bytes, disposition: 'inline' });
  }
}
