-- Selects the highest value, the lowest and the longest run of negative prices of each series, in all and by civil
-- year. A run ends with its period. If a value occurs twice, the earlier one is the record. A period has the unit of
-- its last day. The period `year_before` has the dates of the newest year, one year earlier.
WITH newest AS (SELECT zone, metric, max(left(month, 4)) AS year FROM daily GROUP BY ALL),
earlier AS (
    SELECT zone, metric, CAST(min(date) - INTERVAL 1 YEAR AS DATE) AS first_day,
        CAST(max(date) - INTERVAL 1 YEAR AS DATE) AS last_day
    FROM daily JOIN newest USING (zone, metric) WHERE left(month, 4) = year GROUP BY ALL
),
periods AS (
    SELECT *, unnest(['all', left(month, 4)]) AS period FROM daily
    UNION ALL
    SELECT daily.*, 'year_before' FROM daily JOIN earlier USING (zone, metric) WHERE date BETWEEN first_day AND last_day
),
last AS (SELECT zone, metric, period, arg_max(unit, ts) AS unit FROM periods GROUP BY ALL),
days AS (SELECT p.* FROM periods p JOIN last USING (zone, metric, period, unit)),
extremes AS (
    SELECT
        zone, metric, period, unit, CAST(min(date) AS VARCHAR) AS since,
        CAST(max(date) AS VARCHAR) AS until,
        arg_max({'value': max, 'ts': max_ts, 'feeds': feeds}, ROW(max, -max_ts)) AS highest,
        arg_min({'value': min, 'ts': min_ts, 'feeds': feeds}, ROW(min, min_ts)) AS lowest,
        sum(negative_hours) FILTER (metric LIKE 'price%') AS negative_hours,
        CAST(sum(negative_total) FILTER (metric LIKE 'price%') AS DOUBLE) / 3600 AS negative_sum
    FROM days GROUP BY ALL
),
pieces AS (SELECT zone, metric, period, unit, feeds, unnest(negative_runs) AS piece FROM days),
begun AS (
    SELECT *, (lag(piece['end']) OVER series IS DISTINCT FROM piece['start'])::INTEGER AS begins
    FROM pieces WINDOW series AS (PARTITION BY zone, metric, period ORDER BY piece['start'])
),
numbered AS (
    SELECT *, sum(begins) OVER (PARTITION BY zone, metric, period ORDER BY piece['start']) AS run FROM begun
),
runs AS (
    SELECT
        zone, metric, period, min(piece['start']) AS ts, max(piece['end']) AS stop,
        string_agg(DISTINCT feeds, ', ' ORDER BY feeds) AS feeds
    FROM numbered GROUP BY zone, metric, period, run
),
longest AS (
    SELECT * FROM runs
    QUALIFY row_number() OVER (PARTITION BY zone, metric, period ORDER BY stop - ts DESC, ts) = 1
)
SELECT zone, metric, period, 'highest' AS kind, highest.value AS value, unit, highest.ts AS ts, NULL::BIGINT AS "end",
    since, until, negative_hours, negative_sum, highest.feeds AS feeds
FROM extremes
UNION ALL
SELECT zone, metric, period, 'lowest', lowest.value, unit, lowest.ts, NULL, since, until, negative_hours, negative_sum,
    lowest.feeds
FROM extremes
UNION ALL
SELECT zone, metric, period, 'longest_negative', (stop - l.ts) / 3600, unit, l.ts, stop, since, until, negative_hours,
    negative_sum, l.feeds
FROM longest l JOIN extremes USING (zone, metric, period)
ORDER BY zone, metric, period, kind
