-- Compares a zone's generation with its demand minus net import, by means over the hours that have all three. The ratio
-- of a complete mix is 0.85 to 1.15. Rooftop solar is left out: in zones that publish it, it lowers demand.
WITH known(zone, reason) AS (
    VALUES ('NL', 'solar power of the distribution grids is not in its mix'),
           ('CH', 'small plants are not in its mix'),
           ('FR', 'its mix of consolidated days has no wind')
),
by_fuel AS (
    SELECT zone, fuel, ts // 3600 AS hour, avg(value) AS mw, sum(seconds) AS covered
    FROM mix JOIN resolutions USING (resolution)
    WHERE fuel <> 'solar_rooftop'
    GROUP BY ALL
),
generated AS (SELECT zone, hour, sum(mw) AS mw FROM by_fuel GROUP BY ALL HAVING min(covered) = 3600),
used AS (
    SELECT zone, metric, ts // 3600 AS hour, avg(value) AS mw
    FROM (FROM demand UNION ALL FROM interchange) JOIN resolutions USING (resolution)
    GROUP BY ALL
    HAVING sum(seconds) = 3600
),
hours AS (
    SELECT zone, hour, g.mw AS generation, d.mw - i.mw AS need
    FROM generated g
    JOIN used d USING (zone, hour)
    JOIN used i USING (zone, hour)
    WHERE d.metric = 'demand' AND i.metric = 'interchange'
)
SELECT
    zone, timezone(tz, to_timestamp(hour * 3600))::DATE AS day,
    format('the mix is {:.0f} MW, {:.2f} of demand less net import, over {} hours{}',
           avg(generation), avg(generation) / avg(need), count(*),
           coalesce(', as is known: ' || any_value(reason), '')) AS detail
FROM hours JOIN zones USING (zone) LEFT JOIN known USING (zone)
GROUP BY ALL
HAVING avg(generation) NOT BETWEEN 0.85 * avg(need) AND 1.15 * avg(need)
