import { Get, Header, Param, StreamableFile } from '@nestjs/common';
import { ApiParam, ApiResponse } from '@nestjs/swagger';
import type { TaskScope } from '#tasks/task.js';
import { Allow } from '../abilities.guard.js';
import { ConsoleController } from '../console-controller.js';
import { TaskInputs } from './task-inputs.js';
import { VisibleTasks } from './visible-tasks.js';

const BYTES = { schema: { type: 'string' as const, format: 'binary' } };

/** Which image of which task. */
class TaskInputParams {
  readonly taskId!: string;
  readonly name!: string;
}

/** What tasks were made from, as images. */
@ConsoleController('Tasks', 'tasks')
@Allow('tasks.read')
export class TaskInputsController {
  constructor(private readonly inputs: TaskInputs) {}

  @Get(':taskId/inputs/:name')
  @ApiParam({ name: 'taskId', type: String })
  @ApiParam({ name: 'name', type: String, description: 'Index of a reference image, from 0, or `mask`.' })
  @ApiResponse({ status: 200, content: { 'image/png': BYTES, 'image/jpeg': BYTES, 'image/webp': BYTES } })
  // Opened on its own it can run nothing, and no other site's page can show it.
  @Header('content-security-policy', "default-src 'none'; sandbox")
  @Header('cross-origin-resource-policy', 'same-origin')
  async show(@VisibleTasks() scope: TaskScope, @Param() { taskId, name }: TaskInputParams): Promise<StreamableFile> {
    const { stream, bytes, contentType } = await this.inputs.open(scope, taskId, name);
    return new StreamableFile(stream, { type: contentType, length: bytes, disposition: 'inline' });
  }
}
