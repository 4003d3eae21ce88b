import { Body, Get, HttpCode, Post } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import { SavedViews } from '#accounts/saved-views.js';
import { AppError } from '#contract/app-error.js';
import { Allow } from '../abilities.guard.js';
import { ConsoleController } from '../console-controller.js';
import { NameBody } from '../dto/name-body.dto.js';
import { Session } from '../session.decorator.js';
import { SavedViewBody, SavedViewListView } from './dto/saved-views.dto.js';

/** Filters of the task list that a user saved, which nobody else sees. */
@ConsoleController('Tasks', 'task-views')
@Allow('tasks.read')
export class SavedViewsController {
  constructor(private readonly views: SavedViews) {}

  @Get()
  @ApiResponse({ status: 200, type: SavedViewListView })
  async list(@Session() { personId }: Session): Promise<SavedViewListView> {
    return { data: await this.views.list(personId) };
  }

  @Post()
  @HttpCode(204)
  @ApiResponse({ status: 204, description: 'Saves the view, or replaces the one with the same name.' })
  async save(@Session() { personId }: Session, @Body() { name, ...fields }: SavedViewBody): Promise<void> {
    const given = Object.entries(fields).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
    if (!(await this.views.save(personId, { name, filters: Object.fromEntries(given) }))) {
      throw new AppError('account_limit_reached', 'You can save 20 views. Delete one first.');
    }
  }

  @Post('delete')
  @HttpCode(204)
  @ApiResponse({ status: 204, description: 'Deletes the view with this name, if there is one.' })
  async remove(@Session() { personId }: Session, @Body() { name }: NameBody): Promise<void> {
    await this.views.remove(personId, name);
  }
}
