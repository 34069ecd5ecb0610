-- Finds series that repeat all values of the previous day: the publisher sent an old day under a new date.
-- Series with fewer than five distinct values per day may repeat (nuclear, an interconnector at its limit).
WITH days AS (
    SELECT
        zone, metric, fuel, counterparty, link, feed, resolution,
        timezone(tz, starts_at)::DATE AS day, list(value ORDER BY ts) AS readings
    FROM versions JOIN zones USING (zone) JOIN resolutions USING (resolution)
    WHERE superseded_at IS NULL AND metric NOT LIKE '%_forecast'
    GROUP BY ALL
    HAVING sum(seconds) >= 23 * 3600
),
pairs AS (
    SELECT *, lag(readings) OVER series AS before, lag(day) OVER series AS day_before
    FROM days
    WINDOW series AS (PARTITION BY zone, metric, fuel, counterparty, link, feed, resolution ORDER BY day)
)
SELECT
    zone, day,
    format('{}: {} of {} equals the day before in all {} intervals',
           feed, concat_ws(' ', metric, fuel, counterparty, link), zone, len(readings)) AS detail
FROM pairs
WHERE readings = before AND day_before = day - 1 AND len(list_distinct(readings)) >= 5
