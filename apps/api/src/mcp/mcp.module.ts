import { Module } from '@nestjs/common';
import { StorageModule } from '#storage/storage.module.js';
import { TasksModule } from '#tasks/tasks.module.js';
import { CommonModule } from '../common/common.module.js';
import { LinksModule } from '../common/links.module.js';
import { ConsoleTasksModule } from '../console/tasks/tasks.module.js';
import { ImagesModule } from '../images/images.module.js';
import { LimitsModule } from '../limits/limits.module.js';
import { ModelsModule } from '../models/models.module.js';
import { TasksApiModule } from '../tasks/tasks.module.js';
import { AskedByAgent } from './asked-by-agent.js';
import { FindTask } from './find-task.js';
import { ImageTools } from './image-tools.js';
import { McpController } from './mcp.controller.js';
import { McpServers } from './mcp-servers.js';
import { TaskExtension } from './task-extension.js';
import { TaskTools } from './task-tools.js';
import { ToolResults } from './tool-results.js';

/** `/mcp`: the service as tools of an agent. */
@Module({
  imports: [
    CommonModule,
    ConsoleTasksModule,
    ImagesModule,
    LimitsModule,
    LinksModule,
    ModelsModule,
    StorageModule,
    TasksApiModule,
    TasksModule,
  ],
  controllers: [McpController],
  providers: [AskedByAgent, FindTask, ImageTools, McpServers, TaskExtension, TaskTools, ToolResults],
})
export class McpModule {}
