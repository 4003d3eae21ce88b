import { ApiProperty } from '@nestjs/swagger';
import { ChoiceField, TextField, type FieldOptions } from '#contract/field.js';
import { TASK_ORDERS } from '#tasks/reading/task-list-store.js';
import { CONSOLE_STATES } from './task-query.dto.js';
import { ListOf } from '../../dto/list-views.dto.js';
import { NameBody } from '../../dto/name-body.dto.js';

const MAX_TEXT = 200;
const FilterField = (options: FieldOptions = {}) =>
  TextField({ optional: true, notEmpty: true, maxLength: MAX_TEXT, ...options });

/** A name, and the filters to save under it; those of the list of tasks, without their times. */
export class SavedViewBody extends NameBody {
  @ChoiceField(CONSOLE_STATES, { optional: true })
  status?: string | null;

  @FilterField()
  model?: string | null;

  @FilterField({ description: 'The last provider called.' })
  provider?: string | null;

  @FilterField({ description: 'Error code of failed tasks.' })
  error?: string | null;

  @FilterField({ description: 'ID of a key, or `playground`.' })
  key?: string | null;

  @FilterField({ description: 'Identifier of an end user.' })
  end_user?: string | null;

  @FilterField()
  tag?: string | null;

  @FilterField({ description: 'Part of a prompt, or an ID.' })
  text?: string | null;

  @ChoiceField(TASK_ORDERS, { optional: true })
  order?: string | null;
}

class SavedViewView {
  @ApiProperty()
  name!: string;

  @ApiProperty({ type: 'object', additionalProperties: { type: 'string' }, description: 'Query of the task list.' })
  filters!: Readonly<Record<string, string>>;
}

/** The user's own saved views. */
export class SavedViewListView extends ListOf(SavedViewView, 'Sorted by name; 20 at most.') {}
